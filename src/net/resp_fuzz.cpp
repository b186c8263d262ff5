// Any octets: the reader's answer does not depend on how they are split, stays within its bounds,
// and what it read is read again after it was written by our writers.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/resp.hpp"

namespace {

using namespace penstock::net::resp;

void require(bool held) {
  if (!held) std::abort();
}

bool same(const node& a, const node& b) {
  return a.kind == b.kind && a.depth == b.depth && a.number == b.number && a.text == b.text;
}

// Types without a writer are written as octets of the protocol.
void write(std::string& out, const node& n) {
  switch (n.kind) {
    case type::simple_string:
      append_simple(out, n.text);
      return;
    case type::error:
      out += "!" + std::to_string(n.text.size()) + "\r\n" + std::string(n.text) + "\r\n";
      return;
    case type::integer:
      append_integer(out, n.number);
      return;
    case type::bulk_string:
      append_bulk(out, n.text);
      return;
    case type::array:
      append_array(out, static_cast<std::size_t>(n.number));
      return;
    case type::null:
      append_null(out, 3);
      return;
    case type::boolean:
      out += n.number != 0 ? "#t\r\n" : "#f\r\n";
      return;
    case type::real:
      out += "," + std::string(n.text) + "\r\n";
      return;
    case type::big_number:
      out += "(" + std::string(n.text) + "\r\n";
      return;
    case type::map:
      append_map(out, static_cast<std::size_t>(n.number) / 2);
      return;
    case type::set:
      out += "~" + std::to_string(n.number) + "\r\n";
      return;
    case type::push:
      out += ">" + std::to_string(n.number) + "\r\n";
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  reader whole;
  const read_status status = whole.read(input);

  reader split;
  read_status last = read_status::need_more;
  for (std::size_t n = 1; n <= size && last == read_status::need_more; ++n) {
    const std::string moved(input.substr(0, n));
    last = split.read(moved);
  }
  require(last == status || (size == 0 && status == read_status::need_more));
  if (status != read_status::complete) return 0;

  require(whole.consumed() <= size && whole.consumed() == split.consumed());
  require(!whole.nodes().empty() && whole.nodes().size() == split.nodes().size());
  std::string out;
  for (const node& n : whole.nodes()) {
    require(n.depth <= limits{}.depth_max);
    write(out, n);
  }
  reader again;
  require(again.read(out) == read_status::complete && again.consumed() == out.size());
  require(again.nodes().size() == whole.nodes().size());
  for (std::size_t i = 0; i < again.nodes().size(); ++i) {
    require(same(again.nodes()[i], whole.nodes()[i]));
  }
  return 0;
}
