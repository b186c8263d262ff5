#include <algorithm>
#include <array>
#include <limits>

#include "base/ascii.hpp"
#include "net/http1.hpp"
#include "net/http1_octets.hpp"

namespace penstock::net::http1 {

namespace {

// Names that would change the message if someone merged trailers into the head (RFC 9110 6.5.1).
constexpr std::array<std::string_view, 3> forbidden_trailers = {"content-length",
                                                                "transfer-encoding", "host"};
constexpr std::uint8_t all_candidates = (1U << forbidden_trailers.size()) - 1U;

constexpr std::uint8_t size_digits_max = 16;

}  // namespace

void body_reader::start(framing f, std::uint64_t content_length) noexcept {
  *this = body_reader{};
  framing_ = f;
  switch (f) {
    case framing::none:
      at_ = at::done;
      break;
    case framing::content_length:
      left_ = content_length;
      at_ = left_ == 0 ? at::done : at::data;
      break;
    case framing::chunked:
      at_ = at::size;
      break;
    case framing::until_close:
      at_ = at::until_close;
      break;
  }
}

bool body_reader::finish() const noexcept {
  return at_ == at::done || at_ == at::until_close;
}

body_reader::step body_reader::next(std::string_view in) noexcept {
  step s;
  while (at_ != at::done && at_ != at::broken && s.consumed < in.size()) {
    if (at_ == at::until_close) {
      s.data = in.substr(s.consumed);
      s.consumed = in.size();
      break;
    }
    if (at_ == at::data) {
      const std::uint64_t here = in.size() - s.consumed;
      s.data = in.substr(s.consumed, static_cast<std::size_t>(std::min(left_, here)));
      s.consumed += s.data.size();
      left_ -= s.data.size();
      if (left_ == 0) at_ = framing_ == framing::chunked ? at::data_cr : at::done;
      break;
    }
    step_octet(in[s.consumed]);
    if (at_ != at::broken) ++s.consumed;
  }
  s.done = at_ == at::done;
  s.bad = at_ == at::broken;
  return s;
}

void body_reader::step_octet(char c) noexcept {
  if (at_ >= at::trailer_start) {
    step_trailer(c);
  } else if (at_ >= at::ext_space && at_ <= at::ext_quoted_end) {
    step_extension(c);
  } else {
    step_size(c);
  }
}

void body_reader::step_size(char c) noexcept {
  switch (at_) {
    case at::size:
      left_ = 0;
      digits_ = 0;
      if (!is(c, octet::hex)) break;
      at_ = at::size_digits;
      [[fallthrough]];
    case at::size_digits:
      if (is(c, octet::hex)) {
        left_ = left_ << 4U | static_cast<unsigned>(ascii::hex_value(c));
        // As for Content-Length: sizes stay below 2^63 so that no sum of them overflows.
        const bool fits =
            left_ <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
        if (++digits_ <= size_digits_max && fits) return;
        break;
      }
      if (c == ' ' || c == '\t' || c == ';') {
        extensions_ += 1;
        at_ = c == ';' ? at::ext_name_start : at::ext_space;
        if (extensions_ <= extensions_max) return;
        break;
      }
      if (c != '\r') break;
      at_ = at::size_lf;
      return;
    case at::size_lf:
      if (c != '\n') break;
      at_ = left_ == 0 ? at::trailer_start : at::data;
      return;
    case at::data_cr:
      if (c != '\r') break;
      at_ = at::data_lf;
      return;
    case at::data_lf:
      if (c != '\n') break;
      at_ = at::size;
      return;
    default:
      break;
  }
  at_ = at::broken;
}

// chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), RFC 9112 7.1.1.
// White space is allowed only where more of the extension follows.
void body_reader::step_extension(char c) noexcept {
  if (++extensions_ > extensions_max) {
    at_ = at::broken;
    return;
  }
  const bool space = c == ' ' || c == '\t';
  switch (at_) {
    case at::ext_space:  // only ';' may end it
      if (!space) at_ = c == ';' ? at::ext_name_start : at::broken;
      return;
    case at::ext_name_start:
      if (!space) at_ = is(c, octet::token) ? at::ext_name : at::broken;
      return;
    case at::ext_name:
      if (is(c, octet::token)) return;
      if (c == '=') {
        at_ = at::ext_value_start;
      } else {
        after_extension_part(c, at::ext_name_space);
      }
      return;
    case at::ext_name_space:  // '=' and ';' may end it
      if (space) return;
      if (c == '=') {
        at_ = at::ext_value_start;
      } else {
        at_ = c == ';' ? at::ext_name_start : at::broken;
      }
      return;
    case at::ext_value_start:
      if (space) return;
      if (c == '"') {
        at_ = at::ext_quoted;
      } else {
        at_ = is(c, octet::token) ? at::ext_value : at::broken;
      }
      return;
    case at::ext_value:
      if (!is(c, octet::token)) after_extension_part(c, at::ext_space);
      return;
    case at::ext_quoted:
      if (c == '"') {
        at_ = at::ext_quoted_end;
      } else if (c == '\\') {
        at_ = at::ext_quoted_pair;
      } else if (!is(c, octet::value)) {
        at_ = at::broken;
      }
      return;
    case at::ext_quoted_pair:
      at_ = is(c, octet::value) ? at::ext_quoted : at::broken;
      return;
    case at::ext_quoted_end:
      after_extension_part(c, at::ext_space);
      return;
    default:
      at_ = at::broken;
  }
}

// After a name or a value: the next extension, the end of the line, or white space (`on_space`).
void body_reader::after_extension_part(char c, at on_space) noexcept {
  switch (c) {
    case ';':
      at_ = at::ext_name_start;
      return;
    case '\r':
      at_ = at::size_lf;
      return;
    case ' ':
    case '\t':
      at_ = on_space;
      return;
    default:
      at_ = at::broken;
  }
}

void body_reader::step_trailer(char c) noexcept {
  if (++trailers_ > trailers_max) {
    at_ = at::broken;
    return;
  }
  switch (at_) {
    case at::trailer_start:
      if (c == '\r') {
        at_ = at::end_lf;
        return;
      }
      name_size_ = 0;
      candidates_ = all_candidates;
      if (!is(c, octet::token)) break;
      at_ = at::trailer_name;
      match_trailer_name(c);
      return;
    case at::trailer_name:
      if (is(c, octet::token)) {
        match_trailer_name(c);
        return;
      }
      if (c != ':') break;
      for (std::size_t i = 0; i < forbidden_trailers.size(); ++i) {
        if ((candidates_ >> i & 1U) != 0 && forbidden_trailers[i].size() == name_size_) {
          at_ = at::broken;
          return;
        }
      }
      at_ = at::trailer_value;
      return;
    case at::trailer_value:
      if (c == '\r') {
        at_ = at::trailer_lf;
        return;
      }
      if (!is(c, octet::value)) break;
      return;
    case at::trailer_lf:
      if (c != '\n') break;
      at_ = at::trailer_start;
      return;
    case at::end_lf:
      if (c != '\n') break;
      at_ = at::done;
      return;
    default:
      break;
  }
  at_ = at::broken;
}

void body_reader::match_trailer_name(char c) noexcept {
  for (std::size_t i = 0; i < forbidden_trailers.size(); ++i) {
    const std::string_view name = forbidden_trailers[i];
    if (name_size_ >= name.size() || name[name_size_] != ascii::lower(c)) {
      candidates_ = static_cast<std::uint8_t>(candidates_ & ~(1U << i));
    }
  }
  ++name_size_;
}

}  // namespace penstock::net::http1
