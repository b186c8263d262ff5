// result<T>: a value or an error, for every fallible call of the library. The library throws
// nothing of its own; std::bad_alloc may still pass. Values are immutable once returned and safe to
// share between threads like any other value.
//
// Its own 60 lines because std::expected is C++23 and no third-party type may appear in an
// installed header (docs/decisions/0004-own-result.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace penstock {

// What went wrong. Values are stable and only ever appended.
enum class errc : std::uint8_t {
  success = 0,        // reserved; never inside an error
  invalid_quota = 1,  // a quota outside the accepted ranges; the message names the nearest accepted
  invalid_argument = 2,  // a call whose arguments break its contract
  invalid_config = 3,    // a configuration that cannot be used; the message carries file and place
  io = 4,                // the operating system refused (address in use, file missing, …)
  store_unavailable = 5  // the store did not answer in time or at all
};

struct error {
  errc code = errc::invalid_argument;
  std::string message;  // one sentence for a person: what, where, and the remedy; never a secret
};

template <class T>
class [[nodiscard]] result {
 public:
  result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by intent
  result(penstock::error e)
      : state_(std::in_place_index<1>, std::move(e)) {}  // NOLINT: implicit by intent

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Precondition: has_value(). Otherwise std::bad_variant_access is thrown.
  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !has_value(). Otherwise std::bad_variant_access is thrown.
  [[nodiscard]] const penstock::error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, penstock::error> state_;
};

}  // namespace penstock
