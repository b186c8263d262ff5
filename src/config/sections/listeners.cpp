// `gateway:`, `decision:`, `admin:`, `health:` what listens where, and its bounds.
#include "config/grammar/size.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view an_address = "an address";

template <duration gateway_config::*Member>
void read_timeout(const value& v, gateway_config& g) {
  read_duration(v, milliseconds{10}, hours{24}, g.*Member);
}

const field<gateway_config> gateway_table[] = {
    {{"listen", "address", "none", "Where clients connect. None: no gateway."},
     [](const value& v, gateway_config& g) { read_with(v, parse_listen, an_address, g.listen); }},
    {{"upstream", "URL or list of URLs", "none",
      "The API behind the gateway, `http://HOST[:PORT]`, `https://…` or `unix:PATH`. Several take "
      "turns. None: "
      "no gateway."},
     [](const value& v, gateway_config& g) {
       read_one_or_more(v, "a URL or a list of URLs", [&](const value& item) {
         upstream_url u;
         if (read_with(item, parse_upstream, "a URL", u)) g.upstreams.push_back(u);
       });
     }},
    {{"max_body", "size or unlimited", "unlimited", "Largest request body; 413 above."},
     [](const value& v, gateway_config& g) {
       if (v.raw().text == "unlimited") {
         g.max_body = unlimited_bytes;
       } else {
         read_size(v, 0, std::int64_t{1} << 50, g.max_body);
       }
     }},
    {{"max_request_line", "size", "8KiB", "Longest request line; 414 above."},
     [](const value& v, gateway_config& g) { read_size(v, 64, 1 << 20, g.max_request_line); }},
    {{"max_head", "size", "16KiB", "Request line and header fields together; 431 above."},
     [](const value& v, gateway_config& g) { read_size(v, 256, 60 << 10, g.max_head); }},
    {{"max_fields", "whole number", "100", "Most header fields of a request; 431 above."},
     [](const value& v, gateway_config& g) { read_integer(v, 1, 10'000, g.max_fields); }},
    {{"max_in_flight", "whole number or unlimited", "unlimited",
      "Most requests at upstreams at a time; 503 with Retry-After above."},
     [](const value& v, gateway_config& g) {
       if (v.raw().text != "unlimited") read_integer(v, 1, 1'000'000, g.max_in_flight);
     }},
    {{"head_timeout", "duration", "10s",
      "From the first octet of a request to the end of its head; 408 after."},
     read_timeout<&gateway_config::head_timeout>},
    {{"body_timeout", "duration", "30s", "Longest pause within a request body; 408 after."},
     read_timeout<&gateway_config::body_timeout>},
    {{"idle_timeout", "duration", "60s", "How long a connection without a request is kept."},
     read_timeout<&gateway_config::idle_timeout>},
    {{"connect_timeout", "duration", "5s",
      "Longest wait for a connection to an upstream; 504 after."},
     read_timeout<&gateway_config::connect_timeout>},
    {{"response_timeout", "duration", "60s", "Longest pause of an upstream's answer; 504 after."},
     read_timeout<&gateway_config::response_timeout>},
    {{"access_log", "map", "off", "A line of JSON for each request, or for some."},
     read_access_log},
    {{"tls", "map", "none", "Certificates; without them clients speak plain HTTP."},
     [](const value& v, gateway_config& g) { read_tls(v, g.tls); }},
    {{"upstream_tls", "map", "none", "How `https://` upstreams are checked."}, read_upstream_tls},
    {{"share_port", "true or false", "false",
      "Other instances may listen on the same port, for rolling restarts: start the new one, then "
      "stop the old one."},
     [](const value& v, gateway_config& g) { read_bool(v, g.share_port); }},
};

constexpr word<original_headers> original_words[] = {{"local", original_headers::local},
                                                     {"always", original_headers::always},
                                                     {"never", original_headers::never}};

const field<decision_config> decision_table[] = {
    {{"http", "address", "none",
      "`/v1/check` and forward-auth `/v1/auth`, for proxies and programs."},
     [](const value& v, decision_config& d) { read_with(v, parse_listen, an_address, d.http); }},
    {{"grpc", "address", "none", "Envoy's RateLimitService."},
     [](const value& v, decision_config& d) { read_with(v, parse_listen, an_address, d.grpc); }},
    {{"redis", "address", "none", "`CL.THROTTLE` in the Redis protocol."},
     [](const value& v, decision_config& d) { read_with(v, parse_listen, an_address, d.redis); }},
    {{"believe_original", "one of local, always, never", "local",
      "Whether original method, URI and host are taken from header fields. `local`: on loopback "
      "and unix listeners."},
     [](const value& v, decision_config& d) { read_word(v, original_words, d.believe_original); }},
    {{"token_sha256", "64 hex digits", "none",
      "SHA-256 of a secret that every check on `http` must carry, as `Authorization: Bearer` or "
      "`X-Penstock-Token`. Who has it is believed as on a loopback listener."},
     [](const value& v, decision_config& d) {
       read_with(v, parse_sha256, "64 hex digits", d.token_sha256);
     }},
    {{"tls", "map", "none", "Certificates for `http`; without them it speaks plain HTTP."},
     [](const value& v, decision_config& d) { read_tls(v, d.tls); }},
};

const field<config> admin_table[] = {
    {{"listen", "address", "none",
      "Dashboard and changes. Anything but loopback or a unix socket needs a token."},
     [](const value& v, config& c) {
       c.at.admin_listen = v.at();
       read_with(v, parse_listen, an_address, c.admin.listen);
     }},
    {{"token", "text", "none", "Secret that changes must present. Better: `token_sha256`."},
     [](const value& v, config& c) {
       c.at.admin_token = v.at();
       if (v.raw().text.size() < 16) {
         if (v.text("a text") != nullptr)
           v.fail(problem{"too short for a secret", "at least 16 characters", 0, true});
         return;
       }
       read_string(v, c.admin.token);
     }},
    {{"token_sha256", "64 hex digits", "none",
      "SHA-256 of the secret, so that the file does not hold it."},
     [](const value& v, config& c) {
       read_with(v, parse_sha256, "64 hex digits", c.admin.token_sha256);
     }},
};

const field<health_config> health_table[] = {
    {{"listen", "address", "none", "`/livez`, `/readyz` and `/metrics`; read-only."},
     [](const value& v, health_config& h) { read_with(v, parse_listen, an_address, h.listen); }},
};

}  // namespace

void read_gateway(const value& v, config& out) {
  out.at.gateway = v.at();
  if (!read_map(v, gateway_table, out.gateway)) return;
  place_tls_files(out.gateway.tls, out.file);
  place_upstream_tls_files(out.gateway, out.file);
  if (out.gateway.max_request_line > out.gateway.max_head) {
    const auto where = v.find("max_request_line");
    (where ? *where : *v.find("max_head"))
        .fail("the request line may be longer than the whole head",
              "max_head is " + size_text(out.gateway.max_head) + ", max_request_line is " +
                  size_text(out.gateway.max_request_line));
  }
}

void read_decision(const value& v, config& out) {
  if (read_map(v, decision_table, out.decision)) place_tls_files(out.decision.tls, out.file);
}

void read_admin(const value& v, config& out) {
  out.at.admin = v.at();
  read_map(v, admin_table, out);
  const auto token = v.find("token");
  if (token && v.find("token_sha256"))
    token->fail("token and token_sha256 are both given", "keep token_sha256");
}

void read_health(const value& v, config& out) {
  read_map(v, health_table, out.health);
}

void describe_listeners(std::vector<section_doc>& to) {
  to.push_back({"gateway", "The reverse proxy in front of the API.", docs_of(gateway_table)});
  describe_access_log(to);
  describe_tls(to);
  to.push_back({"decision", "Listeners that only decide, for proxies and programs that ask.",
                docs_of(decision_table)});
  describe_decision_tls(to);
  to.push_back({"admin", "Dashboard, inspection and changes.", docs_of(admin_table)});
  to.push_back({"health", "For orchestrators and Prometheus.", docs_of(health_table)});
}

}  // namespace penstock::config
