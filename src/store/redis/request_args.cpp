#include "store/redis/request_args.hpp"

#include <array>

namespace penstock::store::redis {
namespace {

constexpr std::uint8_t peek_flag = 1;
constexpr std::uint8_t record_flag = 2;
constexpr std::uint8_t undo_flag = 4;
constexpr std::uint8_t images_flag = 8;
constexpr std::uint8_t given_time_flag = 128;
constexpr int charged_bit = 8;  // of a charge

// The scripts know the algorithms by these numbers, and a fleet runs two versions during a rollout.
static_assert(static_cast<int>(algorithm::token_bucket) == 0);
static_assert(static_cast<int>(algorithm::fixed_window) == 1);
static_assert(static_cast<int>(algorithm::sliding_window_log) == 2);
static_assert(static_cast<int>(algorithm::sliding_window_counter) == 3);
static_assert(static_cast<int>(algorithm::leaky_bucket) == 4);

void append_octet(std::string& out, std::uint8_t value) {
  out.push_back(static_cast<char>(value));
}

void append_number(std::string& out, std::int64_t value) {
  std::array<char, 7> octets;
  auto bits = static_cast<std::uint64_t>(value);
  for (char& o : octets) {
    o = static_cast<char>(bits & 0xffU);
    bits >>= 8U;
  }
  out.append(octets.data(), octets.size());
}

void append_head(std::string& out, std::uint8_t flags, std::optional<instant> given) {
  append_octet(out, static_cast<std::uint8_t>(flags | (given ? given_time_flag : 0)));
  append_number(out, given ? given->time_since_epoch().count() : 0);
}

void append_charge(std::string& out, const charge& c, int more = 0) {
  const quotas::compiled& q = c.what->quota;
  const int how = (c.as == role::shadow ? 1 : 0) + (c.only_check ? 2 : 0) +
                  (c.what->count_denied ? 4 : 0) + more;
  append_octet(out, static_cast<std::uint8_t>(q.source.kind));
  append_octet(out, static_cast<std::uint8_t>(how));
  append_number(out, c.cost);
  append_number(out, q.tick_us);
  append_number(out, q.capacity);
  switch (q.source.kind) {
    case algorithm::token_bucket:
    case algorithm::leaky_bucket:
      append_number(out, q.unit_num);
      append_number(out, q.unit_den);
      append_number(out, q.rate_tag);
      append_number(out, q.full);
      if (q.source.kind == algorithm::token_bucket) return;
      append_number(out, q.max_wait);
      append_number(out, q.undelayed);
      return;
    case algorithm::fixed_window:
    case algorithm::sliding_window_log:
    case algorithm::sliding_window_counter:
      append_number(out, q.period);
      append_number(out, q.burst);
      append_number(out, q.burst_period);
      return;
  }
}

}  // namespace

void append_check_args(std::string& out, std::span<const charge> charges, request_kind kind,
                       std::optional<instant> given) {
  append_head(out,
              kind == request_kind::peek               ? peek_flag
              : kind == request_kind::record           ? record_flag
              : kind == request_kind::take_with_images ? images_flag
                                                       : std::uint8_t{0},
              given);
  for (const charge& c : charges) append_charge(out, c);
}

void append_undo_args(std::string& out, std::span<const charge> charges,
                      std::span<const verdict> verdicts, std::span<const image> images,
                      instant charged_at, request_kind kind, std::optional<instant> given) {
  const bool peek = kind == request_kind::peek;
  append_head(out, peek ? undo_flag | peek_flag : undo_flag, given);
  append_number(out, charged_at.time_since_epoch().count());
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const bool charged =
        !peek && verdicts[i].admitted && !charges[i].only_check && charges[i].cost > 0;
    append_charge(out, charges[i], charged ? charged_bit : 0);
    if (!charged) continue;
    for (const std::string* text : {&images[i].before, &images[i].after}) {
      append_octet(out, static_cast<std::uint8_t>(text->size()));
      out += *text;
    }
  }
}

void append_refund_args(std::string& out, std::span<const charge> charges, instant charged_at,
                        std::optional<instant> given) {
  append_head(out, 0, given);
  append_number(out, charged_at.time_since_epoch().count());
  for (const charge& c : charges) append_charge(out, c);
}

}  // namespace penstock::store::redis
