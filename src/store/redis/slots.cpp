#include "store/redis/slots.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace penstock::store::redis {
namespace {

namespace resp = net::resp;

constexpr std::array<std::uint16_t, 256> make_crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> crc_table = make_crc_table();

// Walks a flat tree: at a value, or behind it.
class walker {
 public:
  explicit walker(std::span<const resp::node> nodes) : nodes_(nodes) {}

  [[nodiscard]] bool done() const { return at_ >= nodes_.size(); }
  [[nodiscard]] const resp::node& here() const { return nodes_[at_]; }
  [[nodiscard]] bool aggregate() const {
    const resp::type t = here().kind;
    return t == resp::type::array || t == resp::type::map || t == resp::type::set;
  }
  void into() { ++at_; }
  void over() {
    const std::uint8_t depth = here().depth;
    ++at_;
    while (!done() && here().depth > depth) ++at_;
  }
  // Of an aggregate: how many values are directly in it.
  [[nodiscard]] std::int64_t size() const { return here().number; }

 private:
  std::span<const resp::node> nodes_;
  std::size_t at_ = 0;
};

std::size_t node_index(slot_map& map, host_port at) {
  const auto known = std::find(map.masters.begin(), map.masters.end(), at);
  if (known != map.masters.end()) return static_cast<std::size_t>(known - map.masters.begin());
  map.masters.push_back(std::move(at));
  return map.masters.size() - 1;
}

bool valid(std::int64_t first, std::int64_t last) {
  return first >= 0 && first <= last && last < slot_count;
}

struct shard_node {
  std::string host;
  std::int64_t port = 0;
  std::int64_t tls_port = 0;
  bool master = false;
  bool online = true;
};

// `w` stands at the node's map or flat array of name and value; left behind it.
shard_node read_shard_node(walker& w, const std::string& asked) {
  shard_node n;
  std::string ip;
  if (!w.aggregate()) {
    w.over();
    return n;
  }
  const std::int64_t pairs = w.size() / 2;
  w.into();
  for (std::int64_t i = 0; i < pairs && !w.done(); ++i) {
    const std::string_view name = w.here().text;
    w.over();
    if (w.done()) break;
    const resp::node value = w.here();
    if (name == "endpoint") n.host = value.text;
    if (name == "ip") ip = value.text;
    if (name == "port") n.port = value.number;
    if (name == "tls-port") n.tls_port = value.number;
    if (name == "role") n.master = value.text == "master";
    if (name == "health") n.online = value.text == "online";
    w.over();
  }
  if (n.host == "?") n.host = ip;
  if (n.host.empty()) n.host = asked;
  return n;
}

}  // namespace

int slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc =
        ((crc << 8U) & 0xffffU) ^ crc_table[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU];
  }
  return static_cast<int>(crc % slot_count);
}

slot_map parse_shards(std::span<const resp::node> answer, const std::string& asked, bool tls) {
  slot_map map;
  walker w(answer);
  if (w.done() || w.here().kind != resp::type::array) return map;
  const std::int64_t shards = w.size();
  w.into();
  for (std::int64_t i = 0; i < shards && !w.done(); ++i) {
    if (!w.aggregate()) return {};
    const std::int64_t pairs = w.size() / 2;
    w.into();
    std::vector<std::int64_t> bounds;
    shard_node master;
    for (std::int64_t k = 0; k < pairs && !w.done(); ++k) {
      const std::string_view name = w.here().text;
      w.over();
      if (w.done()) break;
      if ((name != "slots" && name != "nodes") || !w.aggregate()) {
        w.over();
        continue;
      }
      const std::int64_t values = w.size();
      w.into();
      for (std::int64_t v = 0; v < values && !w.done(); ++v) {
        if (name == "slots") {
          bounds.push_back(w.here().number);
          w.over();
        } else {
          shard_node n = read_shard_node(w, asked);
          if (n.master && n.online) master = std::move(n);
        }
      }
    }
    const std::int64_t port = tls && master.tls_port != 0 ? master.tls_port : master.port;
    if (!master.master || port < 1 || port > 65'535) continue;
    const std::size_t node = node_index(map, {master.host, static_cast<std::uint16_t>(port)});
    for (std::size_t b = 0; b + 1 < bounds.size(); b += 2) {
      if (!valid(bounds[b], bounds[b + 1])) return {};
      map.ranges.push_back({static_cast<int>(bounds[b]), static_cast<int>(bounds[b + 1]), node});
    }
  }
  return map;
}

slot_map parse_slots(std::span<const resp::node> answer, const std::string& asked) {
  slot_map map;
  walker w(answer);
  if (w.done() || w.here().kind != resp::type::array) return map;
  const std::int64_t ranges = w.size();
  w.into();
  for (std::int64_t i = 0; i < ranges && !w.done(); ++i) {
    if (!w.aggregate() || w.size() < 3) return {};
    walker range = w;
    w.over();
    range.into();
    const std::int64_t first = range.here().number;
    range.over();
    const std::int64_t last = range.here().number;
    range.over();
    if (!range.aggregate() || range.size() < 2 || !valid(first, last)) return {};
    range.into();
    std::string host(range.here().text);
    range.over();
    const std::int64_t port = range.here().number;
    if (host == "?") continue;
    if (host.empty()) host = asked;
    if (port < 1 || port > 65'535) return {};
    const std::size_t node = node_index(map, {std::move(host), static_cast<std::uint16_t>(port)});
    map.ranges.push_back({static_cast<int>(first), static_cast<int>(last), node});
  }
  return map;
}

std::string key_in_slot(std::string_view prefix, int slot) {
  for (unsigned n = 0;; ++n) {
    std::string key(prefix);
    key.append(":{").append(std::to_string(n)).append("}");
    if (slot_of(key) == slot) return key;
  }
}

}  // namespace penstock::store::redis
