// `exempt:` and `block:` what no limit applies to, and what is always refused.
#include "config/grammar/address_range.hpp"
#include "config/grammar/path_pattern.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using policy::exempt_spec;

const field<exempt_spec> header_table[] = {
    {{"name", "header name", required,
      "Field that carries the secret, for example `name: X-Internal-Token`."},
     [](const value& v, exempt_spec& e) {
       read_with(v, parse_header_name, "a header name", e.header_name);
     }},
    {{"sha256", "64 hex digits", required,
      "SHA-256 of the secret: `printf %s \"$SECRET\" | sha256sum`."},
     [](const value& v, exempt_spec& e) {
       read_with(v, parse_sha256, "64 hex digits", e.header_sha256);
     }},
};

const field<exempt_spec> table[] = {
    {{"address", "address, CIDR range or list", "none", "Clients at these addresses."},
     [](const value& v, exempt_spec& e) {
       read_one_or_more(v, "an address or a list of addresses", [&](const value& item) {
         std::string range;
         if (read_with(item, parse_address_range, "an address", range))
           e.addresses.push_back(range);
       });
     }},
    {{"header", "map", "none", "Requests with this secret in a header field."},
     [](const value& v, exempt_spec& e) { read_map(v, header_table, e); }},
    {{"api_key_sha256", "64 hex digits or list", "none", "Requests with one of these API keys."},
     [](const value& v, exempt_spec& e) {
       read_one_or_more(v, "64 hex digits or a list", [&](const value& item) {
         std::string digest;
         if (read_with(item, parse_sha256, "64 hex digits", digest))
           e.api_keys_sha256.push_back(digest);
       });
     }},
    {{"path", "path pattern", "none", "Requests for these paths."},
     [](const value& v, exempt_spec& e) {
       read_with(v, parse_path_pattern, "a path pattern", e.path);
     }},
};

}  // namespace

void read_exempt(const value& v, config& out) {
  read_sequence(v, "a list", [&](const value& item) {
    exempt_spec e;
    e.at = item.at();
    if (!read_map(item, table, e)) return;
    // One condition an entry, so that nobody has to guess whether two mean "and" or "or".
    if (item.raw().entries.size() > 1)
      item.fail("has more than one condition", "write one entry for each");
    if (item.raw().entries.empty())
      item.fail("has no condition", "one of address, header, api_key_sha256, path");
    out.policy.exempt.push_back(e);
  });
}

void read_block(const value& v, config& out) {
  read_sequence(v, "a list of addresses", [&](const value& item) {
    std::string range;
    if (read_with(item, parse_address_range, "an address", range))
      out.policy.block.push_back(range);
  });
}

void describe_exempt(std::vector<section_doc>& to) {
  to.push_back({"exempt[]",
                "Requests that skip every limit, also global ones. One condition an entry.",
                docs_of(table)});
  to.push_back({"exempt[].header", "", docs_of(header_table)});
}

}  // namespace penstock::config
