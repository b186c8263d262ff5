#include "store/redis/breaker.hpp"

#include <algorithm>

namespace penstock::store::redis {

void breaker::count(time_point now, bool failure) noexcept {
  if (now - judging_since_ >= judged) {
    judging_since_ = now;
    calls_ = failures_ = 0;
  }
  ++calls_;
  failures_ += failure ? 1 : 0;
}

void breaker::succeeded(time_point now) noexcept {
  failures_in_row_ = 0;
  count(now, false);
}

bool breaker::failed(time_point now, std::uint64_t random) noexcept {
  ++failures_in_row_;
  count(now, true);
  const bool half = calls_ >= calls_to_judge && 2 * failures_ >= calls_;
  if (failures_in_row_ < failures_to_open && !half) return false;
  return trip(now, random);
}

bool breaker::trip(time_point now, std::uint64_t random) noexcept {
  if (!closed_) return false;
  closed_ = false;
  good_probes_ = 0;
  pause_ = first_pause;
  schedule(now, random);
  return true;
}

void breaker::schedule(time_point now, std::uint64_t random) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(pause_);
  const auto off =
      static_cast<std::int64_t>(random % static_cast<std::uint64_t>(whole.count() / 2));
  next_probe_ = now + whole - std::chrono::microseconds{off};
}

bool breaker::probe_succeeded(time_point now) noexcept {
  if (closed_) return false;
  if (++good_probes_ < good_to_close) {
    next_probe_ = now + pause_between_good;
    return false;
  }
  closed_ = true;
  failures_in_row_ = calls_ = failures_ = 0;
  return true;
}

void breaker::probe_failed(time_point now, std::uint64_t random) noexcept {
  if (closed_) return;
  good_probes_ = 0;
  pause_ = std::min(2 * pause_, longest_pause);
  schedule(now, random);
}

}  // namespace penstock::store::redis
