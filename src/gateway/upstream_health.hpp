// Passive health of one upstream address: after some failures in a row it is left out for a time
// that doubles from 1 s to 30 s, then one request tries it while the others still go elsewhere; one
// success makes it whole again. Pure; time is an argument in milliseconds of any monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>

namespace penstock::gateway {

class upstream_health {
 public:
  explicit upstream_health(std::uint32_t failures_until_down = 3) noexcept
      : threshold_(failures_until_down) {}

  [[nodiscard]] bool is_down(std::int64_t now) const noexcept { return now < down_until_; }
  [[nodiscard]] std::int64_t down_until() const noexcept { return down_until_; }

  // Whether a request may go there now. The first one after a back-off keeps the others away until
  // it is known how it ended, or for another back-off if nobody ever tells.
  [[nodiscard]] bool take_turn(std::int64_t now) noexcept {
    if (is_down(now)) return false;
    if (down_until_ != 0) {
      down_until_ = now + back_off_;
      trying_ = true;
    }
    return true;
  }

  void succeeded() noexcept {
    failures_ = 0;
    trying_ = false;
    back_off_ = back_off_first;
    down_until_ = 0;
  }

  // Failures of requests that were sent before it went down tell nothing new.
  void failed(std::int64_t now) noexcept {
    if (!trying_ && (is_down(now) || ++failures_ < threshold_)) return;
    trying_ = false;
    down_until_ = now + back_off_;
    back_off_ = std::min(back_off_ * 2, back_off_last);
    failures_ = threshold_ - 1;  // one more after the back-off is enough
  }

  static constexpr std::int64_t back_off_first = 1'000;
  static constexpr std::int64_t back_off_last = 30'000;

 private:
  std::uint32_t threshold_;
  std::uint32_t failures_ = 0;
  std::int64_t back_off_ = back_off_first;
  std::int64_t down_until_ = 0;
  bool trying_ = false;
};

}  // namespace penstock::gateway
