// Certificates for tests.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/tls.hpp"

namespace penstock::net {

// A self-signed certificate for `name`, which is its own authority.
inline certificate_files make_certificate(const std::string& folder, const std::string& name) {
  const certificate_files files{folder + "/" + name + ".pem", folder + "/" + name + ".key"};
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> x(X509_new(), X509_free);
  X509_set_version(x.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(x.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
  X509_set_pubkey(x.get(), key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(x.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(x.get(), X509_get_subject_name(x.get()));
  const std::string names = "DNS:" + name;
  X509_EXTENSION* names_part =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(x.get(), names_part, -1);
  X509_EXTENSION_free(names_part);
  X509_sign(x.get(), key.get(), EVP_sha256());
  std::FILE* out = std::fopen(files.certificate.c_str(), "w");
  PEM_write_X509(out, x.get());
  std::fclose(out);
  out = std::fopen(files.key.c_str(), "w");
  PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  return files;
}

}  // namespace penstock::net
