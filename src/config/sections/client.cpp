// `client:` and `identity:` who a request comes from.
#include "config/grammar/address_range.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using policy::address_source;
using policy::api_key_spec;
using policy::identity_source;

constexpr word<address_source> source_words[] = {
    {"x-forwarded-for", address_source::x_forwarded_for},
    {"forwarded", address_source::forwarded},
    {"x-real-ip", address_source::x_real_ip},
    {"proxy-protocol", address_source::proxy_protocol},
    {"peer", address_source::peer}};

const field<config> client_table[] = {
    {{"trusted_proxies", "list of addresses and CIDR ranges", "none",
      "Peers whose forwarding headers are believed. Nothing is trusted by default."},
     [](const value& v, config& c) {
       c.at.trusted_proxies = v.at();
       read_one_or_more(v, "a list of addresses", [&](const value& item) {
         std::string range;
         if (read_with(item, parse_address_range, "an address", range)) {
           c.policy.client.trusted_proxies.push_back(range);
         }
       });
     }},
    {{"address_from", "one of x-forwarded-for, forwarded, x-real-ip, proxy-protocol, peer",
      "x-forwarded-for", "What a trusted proxy says the client's address in."},
     [](const value& v, config& c) {
       c.at.address_from = v.at();
       read_word(v, source_words, c.policy.client.address_from);
     }},
    {{"ipv4_prefix", "whole number", "32", "Bits of an IPv4 address that count as one client."},
     [](const value& v, config& c) { read_integer(v, 8, 32, c.policy.client.ipv4_prefix); }},
    {{"ipv6_prefix", "whole number", "64", "Bits of an IPv6 address that count as one client."},
     [](const value& v, config& c) { read_integer(v, 16, 128, c.policy.client.ipv6_prefix); }},
};

template <identity_source From>
void read_source(const value& v, api_key_spec& k) {
  if (!k.name.empty())
    return v.fail("the key's place is given twice", "one of header, query, cookie");
  k.from = From;
  read_with(v, parse_header_name, "a name", k.name);
}

const field<api_key_spec> api_key_table[] = {
    {{"header", "header name", "none", "The key stands in this header field."},
     read_source<identity_source::header>},
    {{"query", "parameter name", "none", "The key stands in this query parameter."},
     read_source<identity_source::query>},
    {{"cookie", "cookie name", "none", "The key stands in this cookie."},
     read_source<identity_source::cookie>},
    {{"known", "file", "none",
      "File with one key, or its `sha256:` hex, a line. Unknown keys count as their address. None: "
      "every key is "
      "believed."},
     [](const value& v, api_key_spec& k) { read_string(v, k.known); }},
};

const field<std::string> user_table[] = {
    {{"header", "header name", required,
      "Field that names the user, for example `header: X-User-Id`. Believed only from a trusted "
      "peer, removed otherwise."},
     [](const value& v, std::string& header) {
       read_with(v, parse_header_name, "a header name", header);
     }},
};

const field<policy::identity_spec> identity_table[] = {
    {{"api_key", "map", "none", "Where the API key stands and which keys are known."},
     [](const value& v, policy::identity_spec& i) {
       api_key_spec k;
       if (!read_map(v, api_key_table, k)) return;
       const bool placed = v.find("header") || v.find("query") || v.find("cookie");
       if (!placed) v.fail("does not say where the key stands", "for example header: X-API-Key");
       i.api_key = k;
     }},
    {{"user", "map", "none", "Which header names the user."},
     [](const value& v, policy::identity_spec& i) { read_map(v, user_table, i.user_header); }},
};

}  // namespace

void read_client(const value& v, config& out) {
  read_map(v, client_table, out);
}

void read_identity(const value& v, config& out) {
  out.at.identity = v.at();
  read_map(v, identity_table, out.policy.identity);
}

void describe_client(std::vector<section_doc>& to) {
  to.push_back({"client", "How the client's address is found.", docs_of(client_table)});
  to.push_back({"identity", "Who a request says it is.", docs_of(identity_table)});
  to.push_back(
      {"identity.api_key", "Exactly one of header, query and cookie.", docs_of(api_key_table)});
  to.push_back({"identity.user", "", docs_of(user_table)});
}

}  // namespace penstock::config
