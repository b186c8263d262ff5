#include "policy/address_set.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace penstock::policy {

namespace {

error not_a_network(std::string_view text) {
  std::string why = "'";
  why.append(text).append(
      "' is not an address or network; write 10.0.0.0/8, fd00::/8 or 203.0.113.9");
  return {errc::invalid_config, std::move(why)};
}

// The network's last address: every bit after the prefix set.
address last_of(const address& first, int prefix) noexcept {
  std::array<std::uint8_t, 16> o = first.octets();
  const std::size_t size = first.is_v4() ? 4 : 16;
  for (std::size_t i = 0; i < size; ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(8 * i), 0, 8);
    o[i] = static_cast<std::uint8_t>(o[i] | (0xffU >> kept));
  }
  return first.is_v4() ? address::v4({o[0], o[1], o[2], o[3]}) : address::v6(o);
}

}  // namespace

result<address_range> parse_network(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  const std::string_view host = text.substr(0, slash);
  const auto parsed = address::parse(host);
  if (!parsed) return not_a_network(text);
  const int bits = parsed->is_v4() ? 32 : 128;
  int prefix = bits;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stop, failed] = std::from_chars(digits.data(), end, prefix);
    const bool padded = digits.size() > 1 && digits.front() == '0';
    if (failed != std::errc{} || stop != end || padded || prefix < 0) return not_a_network(text);
    const bool mapped = parsed->is_v4() && host.find(':') != std::string_view::npos;
    if (mapped) prefix -= 96;
    if (prefix < 0 || prefix > bits) return not_a_network(text);
  }
  const address first = parsed->masked(prefix);
  return address_range{first, last_of(first, prefix)};
}

result<address_set> address_set::parse(std::span<const std::string> networks) {
  std::vector<address_range> ranges;
  for (const std::string& text : networks) {
    auto range = parse_network(text);
    if (!range) return range.error();
    ranges.push_back(*range);
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const address_range& a, const address_range& b) { return a.first < b.first; });
  address_set set;
  for (const address_range& r : ranges) {
    // Networks overlap only by containing each other.
    if (!set.ranges_.empty() && r.first <= set.ranges_.back().last) {
      set.ranges_.back().last = std::max(set.ranges_.back().last, r.last);
    } else {
      set.ranges_.push_back(r);
    }
  }
  return set;
}

bool address_set::contains(const address& a) const noexcept {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), a,
                       [](const address& x, const address_range& r) { return x < r.first; });
  return after != ranges_.begin() && a <= std::prev(after)->last;
}

}  // namespace penstock::policy
