// A quota: which algorithm, and its numbers. Plain values; `validate` says whether they can be kept
// exactly. What each algorithm promises, to the unit, is docs/algorithms.md.
//
// Sources: GCRA: ITU-T I.371 (virtual scheduling algorithm). The window algorithms and the queue
// are defined by this project's documentation.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <penstock/clock.hpp>
#include <penstock/result.hpp>

namespace penstock {

enum class algorithm : std::uint8_t {
  token_bucket,            // `burst` units at once, refilled evenly; the default
  fixed_window,            // `count` units per window aligned to the Unix epoch
  sliding_window_log,      // at most `count` units in every window (t - period, t]
  sliding_window_counter,  // two fixed windows, the older one weighted by its overlap
  leaky_bucket             // a queue: admitted requests are delayed so that they leave evenly
};

// The name used in files and messages: "token_bucket", …
[[nodiscard]] std::string_view to_string(algorithm a) noexcept;

// `count` units per `period`. Fields that an algorithm does not name are ignored by it and must
// keep their defaults; `validate` refuses them otherwise.
struct quota {
  algorithm kind = algorithm::token_bucket;

  std::int64_t count = 0;  // 0..2^53-1; 0 denies everything
  duration period{};       // 1 ms .. 400 days

  // token_bucket: capacity in units; absent = count. Window algorithms: up to this many units above
  // `count` per `burst_window`, in a counter of their own; absent = none. leaky_bucket: not
  // allowed. Filling the bucket from empty takes 142 years (2^52 us) at most.
  std::optional<std::int64_t> burst{};
  std::optional<duration> burst_window{};  // window algorithms with a burst; absent = period

  std::int64_t queue = 0;      // leaky_bucket: units that may wait; one more is in service
  std::int64_t undelayed = 0;  // leaky_bucket: the first waiting units that pass at once; 0..queue
  std::optional<duration>
      max_delay{};  // leaky_bucket: refuse rather than delay longer; 0..400 days

  std::int64_t max_entries = 10'000;  // sliding_window_log: largest accepted `count`, 1..1'000'000

  friend bool operator==(const quota&, const quota&) = default;
};

// Accepts exactly the quotas that every store computes without rounding (docs/algorithms.md, "The
// tick"). Errors: invalid_quota, with the nearest accepted quota in the message.
[[nodiscard]] result<quota> validate(const quota& q);

}  // namespace penstock
