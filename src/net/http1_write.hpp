// Writes HTTP/1 heads and chunk framing into a std::string or into a fixed buffer. The counterpart
// of the parsers: what is written here they read back to the same. No allocation of its own, no
// clock; every function is safe from any thread on objects of its own. Source: RFC 9112 3, 4, 5
// and 7.1.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::net::http1 {

// Where the writers append to: std::string, fixed_writer, and their like.
template <class Out>
concept octet_sink = requires(Out& out, const char* data, std::size_t size) {
  out.append(data, size);
};

// Appends into memory that someone else owns. What does not fit is left out whole, and everything
// after it too; overflowed() tells.
class fixed_writer {
 public:
  explicit fixed_writer(std::span<char> memory) noexcept : memory_(memory) {}
  void append(const char* data, std::size_t size) noexcept;
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  [[nodiscard]] std::string_view written() const noexcept { return {memory_.data(), size_}; }

 private:
  std::span<char> memory_;
  std::size_t size_ = 0;
  bool overflowed_ = false;
};

// The reason phrase of the registry (RFC 9110 15 and its extensions), empty for an unknown status.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

inline constexpr std::string_view crlf = "\r\n";
inline constexpr std::string_view last_chunk = "0\r\n\r\n";  // without trailers, end of body

template <octet_sink Out>
void append(Out& out, std::string_view text) {
  out.append(text.data(), text.size());
}

// Decimal, or lower-case hexadecimal for base 16.
template <octet_sink Out>
void append_number(Out& out, std::uint64_t n, int base = 10) {
  std::array<char, 20> text;  // 2^64 - 1 has 20 decimal digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), n, base).ptr;
  out.append(text.data(), static_cast<std::size_t>(end - text.data()));
}

// "GET /path HTTP/1.1" CRLF. Precondition: a token, and a target without space or control octets.
template <octet_sink Out>
void append_request_line(Out& out, std::string_view method, std::string_view target) {
  append(out, method);
  append(out, " ");
  append(out, target);
  append(out, " HTTP/1.1\r\n");
}

// "HTTP/1.1 200 OK" CRLF. `status` is 100..599; `reason` holds no control octet and may be empty.
template <octet_sink Out>
void append_status_line(Out& out, int status, std::string_view reason) {
  append(out, "HTTP/1.1 ");
  append_number(out, static_cast<std::uint64_t>(status));
  append(out, " ");
  append(out, reason);
  append(out, crlf);
}

// The same with the registry's phrase.
template <octet_sink Out>
void append_status_line(Out& out, int status) {
  append_status_line(out, status, reason_phrase(status));
}

// Precondition: is_token(name) and is_field_value(value) (http1_octets.hpp). Text that a peer could
// have influenced other than through a parser is checked first: a CR LF here is a second field.
template <octet_sink Out>
void append_field(Out& out, std::string_view name, std::string_view value) {
  append(out, name);
  append(out, ": ");
  append(out, value);
  append(out, crlf);
}

template <octet_sink Out, std::unsigned_integral Number>
void append_field(Out& out, std::string_view name, Number value) {
  append(out, name);
  append(out, ": ");
  append_number(out, value);
  append(out, crlf);
}

// The empty line after the fields.
template <octet_sink Out>
void append_head_end(Out& out) {
  append(out, crlf);
}

// The size line of a chunk; `size` octets and CRLF follow it. Precondition: size > 0, because a
// chunk of size 0 ends the body.
template <octet_sink Out>
void append_chunk_size(Out& out, std::uint64_t size) {
  append_number(out, size, 16);
  append(out, crlf);
}

}  // namespace penstock::net::http1
