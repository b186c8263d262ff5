// `gateway.access_log:` one JSON line for each request, or for some.
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

constexpr word<access_log_mode> mode_words[] = {{"off", access_log_mode::off},
                                                {"all", access_log_mode::all},
                                                {"sampled", access_log_mode::sampled},
                                                {"refused", access_log_mode::refused}};

const field<access_log_config> table[] = {
    {{"mode", "one of off, all, sampled, refused", "off",
      "Which requests get a line. `refused`: those that a limit refused, or would have in shadow "
      "mode."},
     [](const value& v, access_log_config& a) { read_word(v, mode_words, a.mode); }},
    {{"path", "file", "-",
      "`-` is standard output. A file is appended to, and opened anew by a reload (SIGHUP)."},
     [](const value& v, access_log_config& a) { read_string(v, a.path); }},
    {{"sample", "whole number", "100", "`mode: sampled`: a line for one request of so many."},
     [](const value& v, access_log_config& a) { read_integer(v, 1, 1'000'000'000, a.sample); }},
    {{"max_lines", "whole number", "10000",
      "Most lines a second; 0: no bound. What is dropped, here or because the reader is too slow, "
      "is told in a line `{\"dropped\":N}`."},
     [](const value& v, access_log_config& a) { read_integer(v, 0, 1'000'000'000, a.max_lines); }},
};

}  // namespace

void read_access_log(const value& v, gateway_config& out) {
  read_map(v, table, out.access_log);
}

void describe_access_log(std::vector<section_doc>& to) {
  to.push_back({"gateway.access_log",
                "JSON lines with time, client, peer, method, host, path (canonical, without the "
                "query), status, complete, bytes, duration_us, decision, limit, shadow_refused, "
                "upstream. Never waited for.",
                docs_of(table)});
}

}  // namespace penstock::config
