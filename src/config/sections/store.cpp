// `store:` where counters live and what happens when they cannot be reached.
#include "config/grammar/number.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr word<policy::store_failure> failure_words[] = {{"allow", policy::store_failure::allow},
                                                         {"deny", policy::store_failure::deny},
                                                         {"local", policy::store_failure::local}};

const field<memory_config> memory_table[] = {
    {{"max_bytes", "size", "64MiB",
      "Budget of the counters' table. When it is full, expired counters go first."},
     [](const value& v, memory_config& m) {
       read_size(v, 1 << 20, std::int64_t{1} << 40, m.max_bytes);
     }},
};

const field<config> table[] = {
    {{"url", "store URL", "none",
      "`redis://[USER:PASSWORD@]HOST[:PORT][/DB]`, `rediss://…` over TLS, `unix:///PATH[?db=N]`, "
      "`redis+sentinel://HOST,HOST/MASTER[/DB]` or `redis+cluster://HOST,HOST`. None: counters "
      "live in "
      "this process."},
     [](const value& v, config& c) {
       c.at.store_url = v.at();
       read_with(v, parse_store_url, "a store URL", c.store.url);
     }},
    {{"deadline", "duration", "20ms",
      "Longest wait for an answer; then `on_store_failure` decides."},
     [](const value& v, config& c) {
       read_duration(v, milliseconds{1}, seconds{10}, c.store.deadline);
     }},
    {{"on_store_failure", "one of allow, deny, local", "allow",
      "What a limit does that does not say so itself. `deny` answers 503; `local` counts in this "
      "process "
      "with a share of `limit / fleet_size`."},
     [](const value& v, config& c) { read_word(v, failure_words, c.policy.on_store_failure); }},
    {{"fleet_size", "whole number", "1",
      "How many instances share the store, for `on_store_failure: local`."},
     [](const value& v, config& c) {
       c.store.fleet_size_given = true;
       read_integer(v, 1, 100'000, c.policy.fleet_size);
     }},
    {{"prefix", "name", "penstock", "First part of every key in Redis."},
     [](const value& v, config& c) { read_with(v, parse_name, "a name", c.store.prefix); }},
    {{"key_version", "whole number", "1",
      "Second part of every key in Redis; a new number starts every counter afresh."},
     [](const value& v, config& c) { read_integer(v, 0, 1'000'000'000, c.store.key_version); }},
    {{"memory", "map", "none",
      "The store in this process; also what `on_store_failure: local` counts in."},
     [](const value& v, config& c) { read_map(v, memory_table, c.store.memory); }},
};

}  // namespace

void read_store(const value& v, config& out) {
  out.at.store = v.at();
  read_map(v, table, out);
}

void describe_store(std::vector<section_doc>& to) {
  to.push_back({"store", "Where counters live, and what happens when they cannot be reached.",
                docs_of(table)});
  to.push_back({"store.memory", "", docs_of(memory_table)});
}

}  // namespace penstock::config
