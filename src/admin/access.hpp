// Who may use the admin API. Pure but for the table of recent failures; time is an argument.
//
// With a token: whoever brings it as `Authorization: Bearer …`, compared in constant time. Without:
// only peers on this machine, and only under a Host that means this machine, because a page of a
// foreign site can point its own name at 127.0.0.1 (DNS rebinding). Changes also need a JSON
// content type and must not come from another site (CSRF). Used from one loop.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"
#include "base/sha256.hpp"
#include "telemetry/catalogue.hpp"

namespace penstock::admin {

struct access_options {
  std::optional<sha256_digest> token;  // of the token; absent: this machine only
  // Host names besides localhost, 127.0.0.1 and [::1] that mean this listener; lower case, no port.
  std::vector<std::string> hosts;
};

struct access_request {
  std::string_view method;
  std::string_view authority;  // Host, port included
  field_list fields;
  bool local = false;                   // the peer is on this machine
  std::array<std::uint8_t, 16> peer{};  // what failures are counted by
};

struct access_refusal {
  int status = 403;         // 401, 403, 415 or 429
  const char* reason = "";  // a sentence that tells a person what to do
  telemetry::tally counted{};
};

class access {
 public:
  // After so many wrong tokens of one peer within a minute none of its tokens is looked at.
  static constexpr int failures_max = 10;
  static constexpr std::int64_t failures_window_ms = 60'000;
  static constexpr std::size_t peers_max = 256;

  explicit access(access_options options) : options_(std::move(options)) {}

  // nullopt: welcome. `now_ms` is monotonic.
  [[nodiscard]] std::optional<access_refusal> judge(const access_request& r, std::int64_t now_ms);

 private:
  struct failures {
    int count = 0;
    std::int64_t since_ms = 0;
  };
  using peer_key = std::array<std::uint8_t, 16>;

  [[nodiscard]] bool host_allowed(std::string_view authority) const;
  [[nodiscard]] std::optional<access_refusal> judge_token(const access_request& r,
                                                          std::int64_t now_ms);
  failures& failures_of(const peer_key& peer, std::int64_t now_ms);

  access_options options_;
  std::map<peer_key, failures> failures_;
};

}  // namespace penstock::admin
