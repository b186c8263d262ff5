// What several charges mean together: computed by hand from the rules, one idea per scenario.
#include "store/conformance.hpp"
#include "store/conformance_parts.hpp"

namespace penstock::store::conformance {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t s = 1'000'000;
constexpr bool yes = true;
constexpr bool no = false;

quota fixed(std::int64_t count) {
  return {.kind = algorithm::fixed_window, .count = count, .period = 10s};
}
quota log_of(std::int64_t count) {
  return {.kind = algorithm::sliding_window_log, .count = count, .period = 10s};
}
charge_row on(std::size_t limit, std::int64_t cost = 1) {
  return {limit, "k", cost};
}
charge_row on_key(std::size_t limit, std::string key) {
  return {limit, std::move(key), 1};
}
charge_row shadow(std::size_t limit) {
  return {limit, "k", 1, role::shadow};
}
charge_row only_check(std::size_t limit, std::int64_t cost = 1) {
  return {limit, "k", cost, role::enforce, true};
}

}  // namespace

// clang-format off: one step per line
std::vector<scenario> batch_scenarios() {
  return {
      {"a_refusal_charges_none",
       {{"two", fixed(2)}, {"one", fixed(1)}},
       {{0 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {1 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 9 * s}, {no, 0, 9 * s, 9 * s}}},
        {1 * s, op::take, {on(0)}, {{yes, 0, 0, 9 * s}}}}},

      {"the_order_does_not_matter",
       {{"two", fixed(2)}, {"one", fixed(1)}},
       {{0 * s, op::take, {on(1), on(0)}, {{yes, 0, 0, 10 * s}, {yes, 1, 0, 10 * s}}},
        {1 * s, op::take, {on(1), on(0)}, {{no, 0, 9 * s, 9 * s}, {yes, 1, 0, 9 * s}}},
        {1 * s, op::take, {on(0)}, {{yes, 0, 0, 9 * s}}}}},

      {"a_refusal_by_a_log_or_a_bucket_charges_none",
       {{"log", log_of(1)},
        {"bucket", {.count = 3, .period = 3s}},
        {"queue", {.kind = algorithm::leaky_bucket, .count = 1, .period = 1s, .queue = 4}}},
       {{0 * s,
         op::take,
         {on(0), on(1), on(2)},
         {{yes, 0, 0, 10 * s}, {yes, 2, 0, 1 * s}, {yes, 4, 0, 1 * s}}},
        {0 * s,
         op::take,
         {on(0), on(1), on(2)},
         {{no, 0, 10 * s, 10 * s}, {yes, 2, 0, 1 * s}, {yes, 4, 0, 1 * s}}},
        {0 * s,
         op::take,
         {on(1, 3), on(2), on(0, 2)},
         {{no, 2, 1 * s, 1 * s}, {yes, 4, 0, 1 * s}, {no, 0, want::never, 10 * s}}},
        {0 * s, op::take, {on(1), on(2)}, {{yes, 1, 0, 2 * s}, {yes, 3, 0, 2 * s, 1 * s}}}}},

      {"a_log_is_left_alone_by_the_refusal_of_another",
       {{"log", log_of(2)}, {"one", fixed(1)}},
       {{0 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {1 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 9 * s}, {no, 0, 9 * s, 9 * s}}},
        {2 * s, op::take, {on(0)}, {{yes, 0, 0, 10 * s}}}}},

      {"two_charges_of_one_counter_follow_each_other",
       {{"three", fixed(3)}},
       {{0 * s, op::take, {on(0, 2), on(0, 2)}, {{yes, 3, 0, 0}, {no, 1, 10 * s, 10 * s}}},
        {0 * s, op::take, {on(0, 1), on(0, 2)}, {{yes, 2, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0 * s, op::take, {on(0)}, {{no, 0, 10 * s, 10 * s}}}}},

      {"two_charges_of_one_log_follow_each_other",
       {{"log", log_of(3)}},
       {{0 * s, op::take, {on(0, 1), on(0, 1)}, {{yes, 2, 0, 10 * s}, {yes, 1, 0, 10 * s}}},
        {1 * s, op::take, {on(0, 1), on(0, 1)}, {{yes, 1, 0, 9 * s}, {no, 0, 9 * s, 10 * s}}},
        {1 * s, op::take, {on(0)}, {{yes, 0, 0, 10 * s}}}}},

      {"keys_and_ids_are_apart",
       {{"a", fixed(1)}, {"ab", fixed(1)}},
       {{0,
         op::take,
         {on_key(0, "bc"), on_key(1, "c"), on_key(0, "")},
         {{yes, 0, 0, 10 * s}, {yes, 0, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0, op::take, {on_key(0, "b")}, {{yes, 0, 0, 10 * s}}},
        {0, op::take, {on_key(0, "bc")}, {{no, 0, 10 * s, 10 * s}}}}},

      {"a_shadow_limit_reports_and_never_refuses",
       {{"two", fixed(2)}, {"shadow", fixed(1)}},
       {{0, op::take, {on(0), shadow(1)}, {{yes, 1, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0, op::take, {shadow(1), on(0)}, {{no, 0, 10 * s, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0, op::take, {on(0)}, {{no, 0, 10 * s, 10 * s}}}}},

      {"a_shadow_limit_is_charged_only_with_the_others",
       {{"one", fixed(1)}, {"shadow", fixed(3)}, {"other", fixed(1)}},
       {{0,
         op::take,
         {on(0), shadow(1), shadow(2)},
         {{yes, 0, 0, 10 * s}, {yes, 2, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0,
         op::take,
         {on(0), shadow(1), shadow(2)},
         {{no, 0, 10 * s, 10 * s}, {yes, 2, 0, 10 * s}, {no, 0, 10 * s, 10 * s}}},
        {0, op::take, {shadow(2), shadow(1)}, {{no, 0, 10 * s, 10 * s}, {yes, 1, 0, 10 * s}}}}},

      {"refusals_are_counted_up_to_the_cap",
       {{"counts", fixed(3), true}, {"one", fixed(1)}},
       {{0 * s, op::take, {on(0), on(1)}, {{yes, 2, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {1 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 9 * s}, {no, 0, 9 * s, 9 * s}}},
        {2 * s, op::take, {on(0), on(1)}, {{yes, 0, 8 * s, 8 * s}, {no, 0, 8 * s, 8 * s}}},
        {3 * s, op::take, {on(0)}, {{no, 0, 7 * s, 7 * s}}},
        {10 * s, op::take, {on(0)}, {{yes, 2, 0, 10 * s}}}}},

      {"a_bucket_that_counts_refusals_stays_empty",
       {{"counts", {.count = 1, .period = 1s, .burst = 3}, true}},
       {{0 * s, op::take, {on(0, 3)}, {{yes, 0, 0, 3 * s}}},
        {1 * s, op::take, {on(0, 2)}, {{no, 0, 2 * s, 3 * s}}},
        {2 * s, op::take, {on(0, 2)}, {{no, 0, 2 * s, 3 * s}}},
        {4 * s, op::take, {on(0, 2)}, {{yes, 0, 0, 3 * s}}}}},

      {"a_log_that_counts_refusals",
       {{"counts", log_of(2), true}, {"none", fixed(0)}},
       {{0 * s, op::take, {on(0), on(1)}, {{yes, 1, 0, 10 * s}, {no, 0, want::never, 0}}},
        {1 * s, op::take, {on(0), on(1)}, {{yes, 0, 9 * s, 10 * s}, {no, 0, want::never, 0}}},
        {2 * s, op::take, {on(0)}, {{no, 0, 8 * s, 9 * s}}}}},

      {"only_check_decides_and_takes_nothing",
       {{"two", fixed(2)}, {"one", fixed(1)}},
       {{0, op::take, {only_check(0)}, {{yes, 2, 0, 0}}},
        {0, op::record, {on(0)}, {}},
        {0, op::take, {only_check(0), on(1)}, {{yes, 1, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0, op::take, {only_check(0, 2)}, {{no, 1, 10 * s, 10 * s}}},
        {0, op::take, {only_check(0), on(1)}, {{yes, 1, 0, 10 * s}, {no, 0, 10 * s, 10 * s}}},
        {0, op::record, {only_check(0)}, {}},
        {0, op::take, {only_check(0)}, {{no, 0, 10 * s, 10 * s}}}}},

      // A limit that admits is no reason for the refusal, also when that refusal was charged to it.
      {"a_limit_that_counts_refusals_says_what_it_decided",
       {{"counts", fixed(3), true}, {"one", fixed(1)}, {"log", log_of(3), true}},
       {{0 * s,
         op::take,
         {on(0), on(1), on(2)},
         {{yes, 2, 0, 10 * s}, {yes, 0, 0, 10 * s}, {yes, 2, 0, 10 * s}}},
        {1 * s,
         op::take,
         {on(0, 2), on(1), on(2, 3)},
         {{yes, 0, 9 * s, 9 * s}, {no, 0, 9 * s, 9 * s}, {no, 0, 10 * s, 10 * s}}},
        {2 * s,
         op::take,
         {on(0), on(1), on(2)},
         {{no, 0, 8 * s, 8 * s}, {no, 0, 8 * s, 8 * s}, {no, 0, 8 * s, 9 * s}}}}},

      // A question charges no refusal, and a charge that only checks is none.
      {"refusals_are_not_counted_by_questions",
       {{"bucket", {.count = 1, .period = 1s, .burst = 3}, true},
        {"queue", {.kind = algorithm::leaky_bucket, .count = 1, .period = 1s, .queue = 2}, true},
        {"none", fixed(0)}},
       {{0,
         op::peek,
         {on(0), on(1), on(2)},
         {{yes, 2, 0, 1 * s}, {yes, 2, 0, 1 * s}, {no, 0, want::never, 0}}},
        {0,
         op::take,
         {on(0), on(1), on(2)},
         {{yes, 2, 0, 1 * s}, {yes, 2, 0, 1 * s}, {no, 0, want::never, 0}}},
        {0,
         op::take,
         {on(0, 3), on(1, 3), on(2)},
         {{no, 0, 3 * s, 3 * s}, {yes, 0, 1 * s, 3 * s}, {no, 0, want::never, 0}}},
        {0, op::take, {only_check(0), on(2)}, {{no, 0, 1 * s, 3 * s}, {no, 0, want::never, 0}}},
        {3 * s, op::take, {only_check(0), on(1)}, {{yes, 3, 0, 0}, {yes, 2, 0, 1 * s}}}}},

      {"recording_takes_what_fits",
       {{"three", fixed(3)}, {"log", log_of(3)}},
       {{0, op::record, {on(0, 2), on(1, 2)}, {}},
        {0, op::peek, {on(0, 0), on(1, 0)}, {{yes, 1, 0, 10 * s}, {yes, 1, 0, 10 * s}}},
        {0, op::record, {on(0, 5), on(1, 5)}, {}},
        {0, op::peek, {on(0, 0), on(1, 0)}, {{yes, 0, 0, 10 * s}, {yes, 0, 0, 10 * s}}}}},

      {"peek_answers_as_take_would",
       {{"two", fixed(2)}, {"log", log_of(2)}},
       {{0, op::peek, {on(0), on(1)}, {{yes, 1, 0, 10 * s}, {yes, 1, 0, 10 * s}}},
        {0, op::peek, {on(0, 2), on(1, 3)}, {{yes, 2, 0, 0}, {no, 2, want::never, 0}}},
        {0, op::take, {on(0, 2), on(1, 2)}, {{yes, 0, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {0, op::peek, {on(0), on(1)}, {{no, 0, 10 * s, 10 * s}, {no, 0, 10 * s, 10 * s}}}}},

      {"cost_0_reports",
       {{"two", fixed(2)}},
       {{0, op::take, {on(0, 0)}, {{yes, 2, 0, 0}}},
        {0, op::take, {on(0, 2)}, {{yes, 0, 0, 10 * s}}},
        {0, op::take, {on(0, 0)}, {{yes, 0, 0, 10 * s}}}}},

      {"a_refund_gives_back",
       {{"two", fixed(2)}, {"log", log_of(2)}},
       {{0, op::take, {on(0, 2), on(1, 2)}, {{yes, 0, 0, 10 * s}, {yes, 0, 0, 10 * s}}},
        {1 * s, op::refund, {on(0, 1), on(1, 1)}, {}, 0},
        {1 * s, op::take, {on(0), on(1)}, {{yes, 0, 0, 9 * s}, {yes, 0, 0, 10 * s}}},
        {1 * s, op::refund, {on_key(0, "unknown"), on_key(1, "unknown")}, {}, 0},
        {1 * s, op::peek, {on_key(0, "unknown")}, {{yes, 1, 0, 9 * s}}}}},

      // Both windows of a sliding counter go (alisaifee/limits issue 276).
      {"reset_forgets_everything_of_one_key",
       {{"counter", {.kind = algorithm::sliding_window_counter, .count = 4, .period = 10s}},
        {"log", log_of(1)}},
       {{9 * s, op::take, {on(0, 4), on(1)}, {{yes, 0, 0, 11 * s}, {yes, 0, 0, 10 * s}}},
        {10 * s, op::take, {on_key(0, "other")}, {{yes, 3, 0, 20 * s}}},
        {10 * s, op::reset, {on(0), on(1)}, {}},
        {10 * s, op::take, {on(0, 4), on(1)}, {{yes, 0, 0, 20 * s}, {yes, 0, 0, 10 * s}}},
        {10 * s, op::peek, {{0, "other", 0}}, {{yes, 3, 0, 20 * s}}}}},

      {"limit_0_refuses_for_good",
       {{"none", fixed(0)}, {"two", fixed(2)}},
       {{0, op::take, {on(1), on(0)}, {{yes, 2, 0, 0}, {no, 0, want::never, 0}}},
        {0, op::take, {on(0, 0)}, {{yes, 0, 0, 0}}}}},

      // brandur/redis-cell#54, encode/django-rest-framework#1438: units used stay used.
      {"a_changed_limit_keeps_what_is_used",
       {{"l", fixed(10)},
        {"l", fixed(5)},
        {"b", {.count = 10, .period = 10s}},
        {"b", {.count = 100, .period = 10s}}},
       {{0, op::take, {on(0, 4), on(2, 4)}, {{yes, 6, 0, 10 * s}, {yes, 6, 0, 4 * s}}},
        {0, op::take, {on(1), on(3, 6)}, {{yes, 0, 0, 10 * s}, {yes, 90, 0, 1 * s}}},
        {0, op::take, {on(1)}, {{no, 0, 10 * s, 10 * s}}},
        {0, op::take, {on(0)}, {{yes, 4, 0, 10 * s}}}}},

      {"a_burst_has_a_window_of_its_own",
       {{"b",
         {.kind = algorithm::fixed_window,
          .count = 2,
          .period = 10s,
          .burst = 1,
          .burst_window = 20s}},
        {"one", fixed(3)}},
       {{0, op::take, {on(0, 3), on(1)}, {{yes, 0, 0, 20 * s}, {yes, 2, 0, 10 * s}}},
        {10 * s, op::take, {on(0, 3), on(1)}, {{no, 2, 10 * s, 10 * s}, {yes, 3, 0, 0}}},
        {20 * s, op::take, {on(0, 3), on(1)}, {{yes, 0, 0, 20 * s}, {yes, 2, 0, 10 * s}}}}},
  };
}
// clang-format on

}  // namespace penstock::store::conformance
