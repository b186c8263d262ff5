#include "cli/tls_settings.hpp"

namespace penstock::cli {

net::tls_server_options tls_settings(const config::tls_config& c) {
  net::tls_server_options out{.certificates = {{c.first.certificate, c.first.key}},
                              .least = c.least == config::tls_least::v1_3 ? net::tls_version::v1_3
                                                                          : net::tls_version::v1_2};
  for (const auto& one : c.sni) out.certificates.push_back({one.certificate, one.key});
  return out;
}

}  // namespace penstock::cli
