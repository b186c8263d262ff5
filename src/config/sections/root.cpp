// The top level of the file.
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

constexpr word<bool> mode_words[] = {{"enforce", false}, {"shadow", true}};

const field<config> table[] = {
    {{"version", "1", required, "Version of this format: `version: 1`."},
     [](const value& v, config&) {
       const auto* text = v.text("a whole number");
       if (text != nullptr && *text != "1")
         v.fail("this program reads version 1 only", "write version: 1");
     }},
    {{"workers", "whole number", "0", "Event loops; 0: one for each CPU."},
     [](const value& v, config& c) { read_integer(v, 0, 1024, c.workers); }},
    {{"mode", "one of enforce, shadow", "enforce",
      "`shadow`: every limit behaves as `mode: shadow`."},
     [](const value& v, config& c) { read_word(v, mode_words, c.policy.shadow_all); }},
    {{"store", "map", "memory", "Where counters live."}, read_store},
    {{"gateway", "map", "none", "The reverse proxy."}, read_gateway},
    {{"decision", "map", "none", "Listeners that only decide."}, read_decision},
    {{"admin", "map", "none", "Dashboard and changes."}, read_admin},
    {{"health", "map", "none", "Health and metrics."}, read_health},
    {{"client", "map", "none", "How the client's address is found."}, read_client},
    {{"identity", "map", "none", "API keys and users."}, read_identity},
    {{"exempt", "list", "none", "Requests that skip every limit."}, read_exempt},
    {{"block", "list of addresses and CIDR ranges", "none",
      "Clients that are always refused with 403."},
     read_block},
    {{"responses", "map", "none", "What clients are told."}, read_responses},
    {{"paths", "map", "none", "Which paths are the same."}, read_paths},
    {{"plans", "map", "none", "Quotas by name."}, read_plans},
    {{"limits", "list", "none", "The limits. None: everything passes, with a warning."},
     read_limits},
};

}  // namespace

void read_root(const value& v, config& out) {
  read_map(v, table, out);
}

void describe_root(std::vector<section_doc>& to) {
  to.push_back(
      {"", "The top level of the file. Block list, exempt, bans and limits apply in this order.",
       docs_of(table)});
}

std::vector<section_doc> all_sections() {
  std::vector<section_doc> out;
  describe_root(out);
  describe_store(out);
  describe_listeners(out);
  describe_client(out);
  describe_exempt(out);
  describe_responses(out);
  describe_limits(out);
  return out;
}

}  // namespace penstock::config
