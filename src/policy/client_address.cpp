#include "policy/client_address.hpp"

#include <array>
#include <charconv>

#include "base/ascii.hpp"

namespace penstock::policy {

namespace {

constexpr std::size_t longest_item = 80;  // an IPv6 address with zone, brackets and port fits

bool is_port(std::string_view text) noexcept {
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, port);
  return text.size() <= 5 && failed == std::errc{} && stop == end && port >= 1 && port <= 65535;
}

// "[v6]", "[v6]:port"
std::optional<address> parse_bracketed(std::string_view text) noexcept {
  const std::size_t close = text.find(']');
  if (close == std::string_view::npos) return std::nullopt;
  const std::string_view inside = text.substr(1, close - 1);
  const std::string_view after = text.substr(close + 1);
  if (!after.empty() && (after.front() != ':' || !is_port(after.substr(1)))) return std::nullopt;
  if (inside.find(':') == std::string_view::npos) return std::nullopt;
  return address::parse(inside);
}

// The walk's state: the address so far, and how much is still believed.
class walk {
 public:
  walk(const address& peer, const address_set& trusted) noexcept : at_(peer), trusted_(trusted) {}

  // Takes the next item to the left; false: the walk is over.
  bool step(const std::optional<address>& item) noexcept {
    if (!item || seen_++ == forwarded_items_max) return false;
    at_ = *item;
    return trusted_.contains(at_);
  }

  [[nodiscard]] const address& result() const noexcept { return at_; }

 private:
  address at_;
  const address_set& trusted_;
  int seen_ = 0;
};

address walk_x_forwarded_for(walk w, field_list fields) noexcept {
  for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
    if (!ascii::iequals(f->name, "x-forwarded-for")) continue;
    std::string_view rest = f->value;
    while (!rest.empty()) {
      const std::size_t comma = rest.rfind(',');
      const bool first = comma == std::string_view::npos;
      const std::string_view item = ascii::trim(first ? rest : rest.substr(comma + 1));
      rest = first ? std::string_view{} : rest.substr(0, comma);
      if (!item.empty() && !w.step(parse_forwarded_item(item))) return w.result();
    }
  }
  return w.result();
}

// The address in a `for` value. `quoted`: what stood between quotes, unescaped.
std::optional<address> parse_node(std::string_view text, bool quoted) noexcept {
  const bool colon = text.find(':') != std::string_view::npos;
  if (!quoted && (colon || text.starts_with('['))) return std::nullopt;
  if (colon && text.find('.') == std::string_view::npos && !text.starts_with('[')) {
    return std::nullopt;  // IPv6 needs brackets here
  }
  if (!text.starts_with('[') && text.find(':') != text.rfind(':')) return std::nullopt;
  return parse_forwarded_item(text);
}

// Takes one parameter's value off `rest`; false: malformed. `node` holds its text.
struct parameter_value {
  std::array<char, longest_item> text{};
  std::size_t size = 0;
  bool quoted = false;
  bool fits = true;

  void push(char c) noexcept {
    if (size < text.size()) {
      text[size++] = c;
    } else {
      fits = false;
    }
  }

  bool take(std::string_view& rest) noexcept {
    if (!rest.starts_with('"')) {
      while (!rest.empty() && rest.front() != ';' && rest.front() != ' ' && rest.front() != '\t') {
        push(rest.front());
        rest.remove_prefix(1);
      }
      return size > 0;
    }
    quoted = true;
    rest.remove_prefix(1);
    while (!rest.empty()) {
      char c = rest.front();
      rest.remove_prefix(1);
      if (c == '"') return true;
      if (c == '\\') {
        if (rest.empty()) return false;
        c = rest.front();
        rest.remove_prefix(1);
      }
      push(c);
    }
    return false;
  }
};

// One element "for=…;proto=…". nullopt: no usable `for`, or malformed.
std::optional<address> parse_element(std::string_view element) noexcept {
  std::optional<address> found;
  bool seen = false;
  element = ascii::trim(element);
  while (!element.empty()) {
    if (element.front() == ';') {
      element.remove_prefix(1);
      element = ascii::trim(element);
      continue;
    }
    std::size_t name_size = 0;
    while (name_size < element.size() && ascii::is_token(element[name_size])) ++name_size;
    const std::string_view name = element.substr(0, name_size);
    element.remove_prefix(name_size);
    if (name.empty() || !element.starts_with('=')) return std::nullopt;
    element.remove_prefix(1);
    parameter_value value;
    if (!value.take(element)) return std::nullopt;
    element = ascii::trim(element);
    if (!element.empty() && element.front() != ';') return std::nullopt;
    if (!ascii::iequals(name, "for")) continue;
    if (seen || !value.fits) return std::nullopt;
    seen = true;
    found = parse_node({value.text.data(), value.size}, value.quoted);
  }
  return found;
}

// The last elements of one Forwarded field, cut at commas outside quotes.
class forwarded_elements {
 public:
  explicit forwarded_elements(std::string_view value) noexcept {
    std::size_t start = 0;
    bool in_quotes = false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (in_quotes && value[i] == '\\') {
        ++i;
      } else if (value[i] == '"') {
        in_quotes = !in_quotes;
      } else if (value[i] == ',' && !in_quotes) {
        push(value.substr(start, i - start));
        start = i + 1;
      }
    }
    push(value.substr(start));
    readable_ = !in_quotes;
  }

  [[nodiscard]] bool readable() const noexcept { return readable_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  // `back` 0: the right-most; at most forwarded_items_max - 1.
  [[nodiscard]] std::string_view from_right(std::size_t back) const noexcept {
    return last_[(count_ - 1 - back) % last_.size()];
  }

 private:
  void push(std::string_view element) noexcept {
    element = ascii::trim(element);
    if (!element.empty()) last_[count_++ % last_.size()] = element;
  }

  std::array<std::string_view, forwarded_items_max> last_;
  std::size_t count_ = 0;
  bool readable_ = false;
};

address walk_forwarded(walk w, field_list fields) noexcept {
  for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
    if (!ascii::iequals(f->name, "forwarded")) continue;
    const forwarded_elements elements(f->value);
    if (!elements.readable()) return w.result();
    for (std::size_t back = 0; back < elements.count(); ++back) {
      if (back == forwarded_items_max) return w.result();
      if (!w.step(parse_element(elements.from_right(back)))) return w.result();
    }
  }
  return w.result();
}

address read_x_real_ip(const address& peer, field_list fields) noexcept {
  const field* only = nullptr;
  for (const field& f : fields) {
    if (!ascii::iequals(f.name, "x-real-ip")) continue;
    if (only != nullptr) return peer;  // which one would the upstream believe?
    only = &f;
  }
  if (only == nullptr) return peer;
  return parse_forwarded_item(only->value).value_or(peer);
}

}  // namespace

std::optional<address> parse_forwarded_item(std::string_view text) noexcept {
  if (text.empty() || text.size() > longest_item) return std::nullopt;
  if (text.front() == '[') return parse_bracketed(text);
  const std::size_t colon = text.find(':');
  const bool one_colon = colon != std::string_view::npos && colon == text.rfind(':');
  if (!one_colon) return address::parse(text);
  if (!is_port(text.substr(colon + 1))) return std::nullopt;
  return address::parse(text.substr(0, colon));
}

address client_address(const address& peer, field_list fields, const address_set& trusted,
                       address_source source, bool vouched) noexcept {
  if (!vouched && !trusted.contains(peer)) return peer;
  switch (source) {
    case address_source::x_forwarded_for:
      return walk_x_forwarded_for({peer, trusted}, fields);
    case address_source::forwarded:
      return walk_forwarded({peer, trusted}, fields);
    case address_source::x_real_ip:
      return read_x_real_ip(peer, fields);
    case address_source::peer:
    case address_source::proxy_protocol:
      break;  // the listener has put it in `peer`
  }
  return peer;
}

}  // namespace penstock::policy
