#include "telemetry/histogram.hpp"

namespace penstock::telemetry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::array<nanoseconds, 7> check = {
    microseconds{10}, microseconds{50}, microseconds{100}, microseconds{500},
    milliseconds{1},  milliseconds{5},  milliseconds{10}};
constexpr std::array<nanoseconds, 14> network = {
    microseconds{250},  microseconds{500},  milliseconds{1},   milliseconds{2},
    milliseconds{5},    milliseconds{10},   milliseconds{20},  milliseconds{50},
    milliseconds{100},  milliseconds{250},  milliseconds{500}, milliseconds{1000},
    milliseconds{2500}, milliseconds{10000}};
constexpr std::array<nanoseconds, 9> delay = {
    milliseconds{10},   milliseconds{50},   milliseconds{100},
    milliseconds{250},  milliseconds{500},  milliseconds{1000},
    milliseconds{2500}, milliseconds{5000}, milliseconds{10000}};
static_assert(network.size() <= buckets_max && delay.size() <= buckets_max);

}  // namespace

std::uint64_t histogram_sum::count() const noexcept {
  std::uint64_t total = 0;
  for (const std::uint64_t n : counts) total += n;
  return total;
}

nanoseconds histogram_sum::quantile(int per_mille) const noexcept {
  const std::uint64_t total = count();
  if (total == 0) return {};
  // Divided first: the product of a large count would overflow.
  const auto share = static_cast<std::uint64_t>(per_mille);
  const std::uint64_t wanted = total / 1000 * share + (total % 1000 * share + 999) / 1000;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    seen += counts[i];
    if (seen >= wanted) return bounds[i];
  }
  return bounds.back();
}

void histogram::add_to(histogram_sum& out) const noexcept {
  out.bounds = bounds_;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) out.counts[i] += counts_[i].get();
  out.sum_ns += sum_ns_.get();
}

std::span<const nanoseconds> check_bounds() noexcept {
  return check;
}
std::span<const nanoseconds> network_bounds() noexcept {
  return network;
}
std::span<const nanoseconds> delay_bounds() noexcept {
  return delay;
}

}  // namespace penstock::telemetry
