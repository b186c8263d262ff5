#include "store/redis/tls.hpp"

#include <array>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace penstock::store::redis {
namespace {

bool is_address(const std::string& host) {
  ASN1_OCTET_STRING* octets = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(octets);
  return octets != nullptr;
}

penstock::error unusable(const char* option, const std::string& file) {
  return {errc::invalid_config, std::string("store URL: ") + option + ": cannot be used: " + file};
}

}  // namespace

result<std::shared_ptr<tls_context>> tls_context::make(const tls_options& options) {
  std::shared_ptr<tls_context> made(new tls_context(options));
  made->context_ = SSL_CTX_new(TLS_client_method());
  if (made->context_ == nullptr) return penstock::error{errc::io, "TLS cannot be set up"};
  SSL_CTX* context = made->context_;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.verify != tls_verify::none) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    if (options.ca_file.empty()) {
      SSL_CTX_set_default_verify_paths(context);
    } else if (SSL_CTX_load_verify_locations(context, options.ca_file.c_str(), nullptr) != 1) {
      return unusable("ca", options.ca_file);
    }
  }
  if (!options.cert_file.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, options.cert_file.c_str()) != 1) {
      return unusable("cert", options.cert_file);
    }
    const std::string& key = options.key_file.empty() ? options.cert_file : options.key_file;
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
      return unusable("key", key);
    }
  }
  return made;
}

tls_context::~tls_context() {
  SSL_CTX_free(context_);
}

tls_session::tls_session(const tls_context& context, const std::string& host)
    : session_(SSL_new(context.native())) {
  SSL_set_bio(session_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(session_);
  const tls_options& options = context.options();
  const std::string& name = options.server_name.empty() ? host : options.server_name;
  if (is_address(name)) {
    if (options.verify == tls_verify::full) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), name.c_str());
    }
  } else if (!name.empty()) {
    SSL_set_tlsext_host_name(session_, name.c_str());
    if (options.verify == tls_verify::full) SSL_set1_host(session_, name.c_str());
  }
}

tls_session::~tls_session() {
  SSL_free(session_);
}

bool tls_session::fail(int code) {
  const long verified = SSL_get_verify_result(session_);
  if (verified != X509_V_OK && !established_) {
    problem_ = std::string("TLS: certificate: ") + X509_verify_cert_error_string(verified);
    return false;
  }
  std::array<char, 160> text{};
  const unsigned long error = ERR_get_error();
  if (error != 0) {
    ERR_error_string_n(error, text.data(), text.size());
    problem_ = std::string("TLS: ") + text.data();
  } else {
    problem_ = code == SSL_ERROR_ZERO_RETURN ? "TLS: closed by the server" : "TLS: failed";
  }
  return false;
}

bool tls_session::advance() {
  if (established_) return true;
  ERR_clear_error();
  const int done = SSL_do_handshake(session_);
  if (done == 1) {
    established_ = true;
    return true;
  }
  const int code = SSL_get_error(session_, done);
  return code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE || fail(code);
}

void tls_session::drain(std::string& wire) {
  std::array<char, 16'384> octets;
  while (true) {
    const int n = BIO_read(SSL_get_wbio(session_), octets.data(), static_cast<int>(octets.size()));
    if (n <= 0) return;
    wire.append(octets.data(), static_cast<std::size_t>(n));
  }
}

bool tls_session::start(std::string& wire) {
  const bool going = advance();
  drain(wire);
  return going;
}

bool tls_session::receive(std::string_view octets, std::string& plain, std::string& wire) {
  BIO_write(SSL_get_rbio(session_), octets.data(), static_cast<int>(octets.size()));
  bool going = advance();
  while (going && established_) {
    std::array<char, 16'384> content;
    ERR_clear_error();
    const int n = SSL_read(session_, content.data(), static_cast<int>(content.size()));
    if (n > 0) {
      plain.append(content.data(), static_cast<std::size_t>(n));
      continue;
    }
    const int code = SSL_get_error(session_, n);
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE) break;
    going = fail(code);
  }
  drain(wire);
  return going;
}

bool tls_session::send(std::string_view plain, std::string& wire) {
  while (!plain.empty()) {
    ERR_clear_error();
    const int n = SSL_write(session_, plain.data(), static_cast<int>(plain.size()));
    if (n <= 0) return fail(SSL_get_error(session_, n));
    plain.remove_prefix(static_cast<std::size_t>(n));
  }
  drain(wire);
  return true;
}

}  // namespace penstock::store::redis
