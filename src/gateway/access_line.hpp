// One request as a line of the access log: a JSON object and a line feed. Whatever octets a client
// sent, it stays one line and parses: control characters, DEL and invalid UTF-8 are escaped, and
// every text is cut after 1 KiB. Pure; `out` keeps its capacity.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <penstock/clock.hpp>

namespace penstock::gateway {

struct access_record {
  static constexpr std::size_t text_max = 1024;  // octets of a field before escaping

  instant began;
  duration took{};
  std::string_view client{};  // address that the policy counts by
  std::string_view peer{};    // address of the connection
  std::string_view method{};  // empty: the request had no readable head
  std::string_view host{};
  std::string_view path{};  // canonical where there is such a form, without the query
  int status = 0;           // what the client was sent; 499: it left before there was an answer
  bool complete = true;     // the client got all of it
  std::uint64_t bytes = 0;  // sent to the client, heads included
  std::string_view decision{};
  std::string_view limit{};  // the one that the answer reports
  bool shadow_refused = false;
  std::string_view upstream{};  // who was asked last; empty: nobody
};

void append_access_line(const access_record& r, std::string& out);

}  // namespace penstock::gateway
