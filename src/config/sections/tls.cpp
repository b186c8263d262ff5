// `gateway.tls:`, `decision.tls:` and `gateway.upstream_tls:`.
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

constexpr word<tls_least> version_words[] = {{"1.2", tls_least::v1_2}, {"1.3", tls_least::v1_3}};
constexpr word<bool> switch_words[] = {{"on", true}, {"off", false}};

const field<certificate_config> certificate_table[] = {
    {{"certificate", "file", required,
      "PEM: the server's certificate, then its chain. A path is relative to this file."},
     [](const value& v, certificate_config& c) { read_string(v, c.certificate); }},
    {{"key", "file", required, "PEM: the private key, without a passphrase."},
     [](const value& v, certificate_config& c) { read_string(v, c.key); }},
};

const field<tls_config> table[] = {
    {{"sni", "list of maps with certificate and key", "none",
      "Further certificates; a client gets the one that covers the name it asks for, else the "
      "first "
      "above."},
     [](const value& v, tls_config& t) {
       read_sequence(v, "a list of certificates", [&t](const value& item) {
         certificate_config one;
         if (read_map(item, certificate_table, one)) t.sni.push_back(std::move(one));
       });
     }},
    {{"min_version", "one of 1.2, 1.3", "1.2", "Oldest version of TLS that is spoken."},
     [](const value& v, tls_config& t) { read_word(v, version_words, t.least); }},
    {{"handshake_timeout", "duration", "5s", "From the connection to the end of the handshake."},
     [](const value& v, tls_config& t) {
       read_duration(v, std::chrono::milliseconds{10}, std::chrono::hours{1}, t.handshake_timeout);
     }},
};

const field<upstream_tls_config> upstream_table[] = {
    {{"ca", "file", "the system's authorities", "PEM: who may vouch for the upstream."},
     [](const value& v, upstream_tls_config& t) { read_string(v, t.ca); }},
    {{"verify", "on or off", "on",
      "Whether chain and name of the upstream's certificate are checked; 502 when they do not "
      "hold."},
     [](const value& v, upstream_tls_config& t) { read_word(v, switch_words, t.verify); }},
};

std::vector<field_doc> server_docs() {
  auto fields = docs_of(certificate_table);
  for (const auto& row : table) fields.push_back(row.about);
  return fields;
}

// As for other files that a policy names: relative to the policy's own folder.
void place(std::string& path, const std::string& policy_file) {
  const auto slash = policy_file.rfind('/');
  if (path.empty() || path.front() == '/' || slash == std::string::npos) return;
  path.insert(0, policy_file, 0, slash + 1);
}

}  // namespace

void read_tls(const value& v, std::optional<tls_config>& out) {
  tls_config t;
  std::vector<bound_field> fields;
  bind(fields, std::span<const field<certificate_config>>(certificate_table), t.first);
  bind(fields, std::span<const field<tls_config>>(table), t);
  if (read_map(v, fields)) out = std::move(t);
}

void read_upstream_tls(const value& v, gateway_config& out) {
  read_map(v, upstream_table, out.upstream_tls);
}

void place_upstream_tls_files(gateway_config& g, const std::string& policy_file) {
  place(g.upstream_tls.ca, policy_file);
}

void place_tls_files(std::optional<tls_config>& tls, const std::string& policy_file) {
  if (!tls) return;
  place(tls->first.certificate, policy_file);
  place(tls->first.key, policy_file);
  for (auto& one : tls->sni) {
    place(one.certificate, policy_file);
    place(one.key, policy_file);
  }
}

void describe_tls(std::vector<section_doc>& to) {
  to.push_back({"gateway.tls",
                "TLS for clients: 1.2 and 1.3, tickets for resumption, HTTP/1.1 by ALPN. A reload "
                "reads the files anew; on an error the old certificates stay in use.",
                server_docs()});
  to.push_back({"gateway.upstream_tls", "For upstreams that begin with `https://`.",
                docs_of(upstream_table)});
}

void describe_decision_tls(std::vector<section_doc>& to) {
  to.push_back({"decision.tls",
                "TLS for who asks on `http`. Keys, reload and errors as in `gateway.tls`.",
                server_docs()});
}

}  // namespace penstock::config
