// The latest refusals and events, each in a ring of fixed size, for people who ask "why". Both are
// thread-safe; a loop writes its own ring, so that it practically never waits for a reader.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/clock.hpp>

#include "telemetry/limit_slots.hpp"

namespace penstock::telemetry {

struct refusal {
  instant at{};
  slot limit = no_slot;
  std::string key;     // as stores name it
  std::string client;  // address as text; empty when not known
  std::string method;
  std::string path;  // canonical, without the query
  int status = 0;
  duration retry_after{};   // 0: no wait helps
  const char* reason = "";  // a static sentence: "over the limit", "banned", …
};

// The same as views, to be copied into the ring. Texts are cut at text_max octets.
struct refusal_view {
  instant at{};
  slot limit = no_slot;
  std::string_view key{};
  std::string_view client{};
  std::string_view method{};
  std::string_view path{};
  int status = 0;
  duration retry_after{};
  const char* reason = "";
};

class refusal_ring {
 public:
  static constexpr std::size_t size = 128;
  static constexpr std::size_t text_max = 160;

  refusal_ring();
  // Does not allocate.
  void add(const refusal_view& r);
  // The latest first.
  [[nodiscard]] std::vector<refusal> latest() const;

 private:
  mutable std::mutex mutex_;
  std::vector<refusal> of_;
  std::uint64_t added_ = 0;
};

enum class event_kind : std::uint8_t { reload, store, ban, change, lifecycle };
[[nodiscard]] std::string_view to_string(event_kind k) noexcept;

// Something that happened to the process, in words that hold no secret.
struct event {
  instant at{};
  event_kind kind = event_kind::lifecycle;
  bool good = true;  // false: somebody should look
  std::string text;
};

class event_ring {
 public:
  static constexpr std::size_t size = 256;

  void add(event e);
  // The latest first.
  [[nodiscard]] std::vector<event> latest() const;

 private:
  mutable std::mutex mutex_;
  std::vector<event> of_;
  std::uint64_t added_ = 0;
};

}  // namespace penstock::telemetry
