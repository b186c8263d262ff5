// The outcome of reading a short text of the configuration: a value, or what is wrong and where.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace penstock::config {

struct problem {
  std::string message{};
  std::string hint{};      // empty: nothing to add
  std::size_t offset = 0;  // bytes from the start of the text
  bool secret = false;     // the text must not be shown
};

template <class T>
class [[nodiscard]] parsed {
 public:
  parsed(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT: implicit by intent
  parsed(problem p) : state_(std::in_place_index<1>, std::move(p)) {}  // NOLINT: implicit by intent

  explicit operator bool() const noexcept { return state_.index() == 0; }
  [[nodiscard]] T& operator*() { return std::get<0>(state_); }
  [[nodiscard]] const T& operator*() const { return std::get<0>(state_); }
  [[nodiscard]] T* operator->() { return &std::get<0>(state_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const problem& error() const { return std::get<1>(state_); }
  // The same problem, `by` bytes further right: for a text inside a text.
  [[nodiscard]] problem moved(std::size_t by) const {
    problem p = error();
    p.offset += by;
    return p;
  }

 private:
  std::variant<T, problem> state_;
};

// `text` in double quotes for a message: shortened to 40 bytes, control characters as '?'.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace penstock::config
