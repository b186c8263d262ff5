#include "net/resp.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace penstock::net::resp {
namespace {

// A whole signed decimal number; '+' is accepted as servers' number parsers do.
bool parse_number(std::string_view text, std::int64_t& out) noexcept {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc{} && end == text.data() + text.size();
}

bool is_real(std::string_view text) noexcept {
  if (text == "inf" || text == "-inf" || text == "nan" || text == "-nan") return true;
  return !text.empty() && text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
}

bool is_big_number(std::string_view text) noexcept {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void append_header(std::string& out, char kind, std::int64_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.push_back(kind);
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out.append("\r\n", 2);
}

void append_line(std::string& out, char kind, std::string_view text) {
  out.push_back(kind);
  for (const char c : text) out.push_back(c == '\r' || c == '\n' ? ' ' : c);
  out.append("\r\n", 2);
}

}  // namespace

void reader::reset() noexcept {
  pos_ = scanned_ = 0;
  in_bulk_ = done_ = false;
  frames_.clear();
  nodes_.clear();
  texts_.clear();
  problem_ = "";
}

read_status reader::bad(const char* why) noexcept {
  problem_ = why;
  return read_status::bad;
}

read_status reader::read(std::string_view buffer) {
  if (*problem_ != '\0') return read_status::bad;
  while (!done_) {
    const read_status s = in_bulk_ ? read_bulk(buffer) : step(buffer);
    if (s != read_status::complete) return s;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_[i].text = buffer.substr(texts_[i].begin, texts_[i].size);
  }
  return read_status::complete;
}

// One line: a whole value, the head of an aggregate, or the length of a bulk string.
read_status reader::step(std::string_view buffer) {
  const std::size_t begin = pos_ + 1;  // behind the type octet
  const std::size_t from = std::max(scanned_, begin);
  const void* found = from < buffer.size()
                          ? std::memchr(buffer.data() + from, '\r', buffer.size() - from)
                          : nullptr;
  const std::size_t end =
      found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - buffer.data())
                       : buffer.size();
  constexpr std::string_view kinds = "+-:$*_#,(!=%~|>";
  if (pos_ < buffer.size() && kinds.find(buffer[pos_]) == std::string_view::npos) {
    return bad("unknown type octet");
  }
  if (end > begin && end - begin > limits_.line_max) return bad("line too long");
  if (std::max(end, pos_) > limits_.value_max) return bad("value too large");
  if (found == nullptr || end + 1 == buffer.size()) {
    scanned_ = end;
    return read_status::need_more;
  }
  if (buffer[end + 1] != '\n') return bad("CR without LF");
  const std::string_view line = buffer.substr(begin, end - begin);
  if (line.find('\n') != std::string_view::npos) return bad("LF without CR");
  const char kind = buffer[pos_];
  pos_ = scanned_ = end + 2;
  return read_line_value(kind, line, begin);
}

read_status reader::read_line_value(char kind, std::string_view line, std::size_t begin) {
  std::int64_t number = 0;
  switch (kind) {
    case '+':
      push(type::simple_string, 0, {begin, line.size()});
      break;
    case '-':
      push(type::error, 0, {begin, line.size()});
      break;
    case ':':
      if (!parse_number(line, number)) return bad("not an integer");
      push(type::integer, number, {});
      break;
    case '_':
      if (!line.empty()) return bad("a null with content");
      push(type::null, 0, {});
      break;
    case '#':
      if (line != "t" && line != "f") return bad("not a boolean");
      push(type::boolean, line == "t" ? 1 : 0, {});
      break;
    case ',':
      if (!is_real(line)) return bad("not a number");
      push(type::real, 0, {begin, line.size()});
      break;
    case '(':
      if (!is_big_number(line)) return bad("not a big number");
      push(type::big_number, 0, {begin, line.size()});
      break;
    case '*':
      if (line == "-1") {
        push(type::null, 0, {});
        break;
      }
      return open(type::array, line, false);
    case '%':
      return open(type::map, line, false);
    case '~':
      return open(type::set, line, false);
    case '>':
      return open(type::push, line, false);
    case '|':
      return open(type::map, line, true);
    default:  // '$', '!', '='
      if (kind == '$' && line == "-1") {
        push(type::null, 0, {});
        break;
      }
      if (!parse_number(line, number) || number < 0) return bad("not a length");
      if (static_cast<std::uint64_t>(number) > limits_.bulk_max) return bad("bulk string too long");
      in_bulk_ = true;
      bulk_kind_ = kind;
      bulk_size_ = static_cast<std::size_t>(number);
      return read_status::complete;
  }
  if (nodes_.size() > limits_.nodes_max) return bad("too many values");
  close_finished();
  return read_status::complete;
}

read_status reader::open(type kind, std::string_view digits, bool attribute) {
  std::int64_t count = 0;
  if (!parse_number(digits, count) || count < 0) return bad("not a length");
  const std::uint64_t most = limits_.elements_max / (kind == type::map ? 2 : 1);
  if (static_cast<std::uint64_t>(count) > most) return bad("aggregate too large");
  if (frames_.size() >= limits_.depth_max) return bad("nested too deeply");
  const std::size_t values = static_cast<std::size_t>(count) * (kind == type::map ? 2 : 1);
  const std::size_t first = nodes_.size();
  push(kind, static_cast<std::int64_t>(values), {});
  if (nodes_.size() > limits_.nodes_max) return bad("too many values");
  frames_.push_back({.left = values, .first = first, .attribute = attribute});
  close_finished();
  return read_status::complete;
}

read_status reader::read_bulk(std::string_view buffer) {
  const std::size_t end = pos_ + bulk_size_;
  if (end + 2 > limits_.value_max) return bad("value too large");
  if (end < buffer.size() && buffer[end] != '\r') return bad("bulk string longer than its length");
  if (end + 2 > buffer.size()) return read_status::need_more;
  if (buffer[end + 1] != '\n') return bad("bulk string longer than its length");
  range text{pos_, bulk_size_};
  if (bulk_kind_ == '=') {  // three octets of format and a colon
    if (bulk_size_ < 4 || buffer[pos_ + 3] != ':') return bad("verbatim string without a format");
    text = {pos_ + 4, bulk_size_ - 4};
  }
  in_bulk_ = false;
  pos_ = scanned_ = end + 2;
  push(bulk_kind_ == '!' ? type::error : type::bulk_string, 0, text);
  if (nodes_.size() > limits_.nodes_max) return bad("too many values");
  close_finished();
  return read_status::complete;
}

void reader::push(type kind, std::int64_t number, range text) {
  nodes_.push_back({kind, static_cast<std::uint8_t>(frames_.size()), number, {}});
  texts_.push_back(text);
}

// Called after each value and each opened aggregate: ends what has all its elements.
void reader::close_finished() noexcept {
  // An aggregate that was just opened is not an element of itself: count it when it ends.
  bool ended = frames_.empty() || nodes_.empty() || nodes_.back().depth == frames_.size();
  while (true) {
    if (ended) {
      if (frames_.empty()) {
        done_ = true;
        return;
      }
      --frames_.back().left;
    }
    if (frames_.back().left > 0) return;
    const frame f = frames_.back();
    frames_.pop_back();
    if (f.attribute) {  // it belongs to the value that follows, and is nothing by itself
      nodes_.resize(f.first);
      texts_.resize(f.first);
      return;
    }
    ended = true;
  }
}

void append_array(std::string& out, std::size_t elements) {
  append_header(out, '*', static_cast<std::int64_t>(elements));
}

void append_map(std::string& out, std::size_t pairs) {
  append_header(out, '%', static_cast<std::int64_t>(pairs));
}

void append_bulk(std::string& out, std::string_view octets) {
  append_header(out, '$', static_cast<std::int64_t>(octets.size()));
  out.append(octets);
  out.append("\r\n", 2);
}

void append_bulk(std::string& out, std::int64_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  append_bulk(out, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

void append_integer(std::string& out, std::int64_t number) {
  append_header(out, ':', number);
}

void append_simple(std::string& out, std::string_view text) {
  append_line(out, '+', text);
}

void append_error(std::string& out, std::string_view text) {
  append_line(out, '-', text);
}

void append_null(std::string& out, int protocol) {
  out.append(protocol >= 3 ? "_\r\n" : "$-1\r\n");
}

}  // namespace penstock::net::resp
