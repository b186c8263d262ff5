#include "telemetry/exposition.hpp"

#include <array>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace penstock::telemetry {
namespace {

prometheus::MetricType type_of(metric_kind k) {
  switch (k) {
    case metric_kind::counter:
      return prometheus::MetricType::Counter;
    case metric_kind::gauge:
      return prometheus::MetricType::Gauge;
    case metric_kind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

double seconds(nanoseconds n) {
  return std::chrono::duration<double>(n).count();
}

}  // namespace

struct exposition::impl {
  std::array<std::vector<prometheus::ClientMetric>, static_cast<std::size_t>(metric::count_)> of;
  std::size_t series = 0;

  // nullptr when the bound is reached.
  prometheus::ClientMetric* add(metric m, std::string_view first, std::string_view second) {
    if (series >= series_max) return nullptr;
    ++series;
    prometheus::ClientMetric& sample = of[static_cast<std::size_t>(m)].emplace_back();
    const description& d = describe(m);
    if (!first.empty()) sample.label.push_back({std::string(d.labels[0]), std::string(first)});
    if (!second.empty()) sample.label.push_back({std::string(d.labels[1]), std::string(second)});
    return &sample;
  }
};

exposition::exposition() : impl_(std::make_unique<impl>()) {}
exposition::~exposition() = default;
exposition::exposition(exposition&&) noexcept = default;
exposition& exposition::operator=(exposition&&) noexcept = default;

void exposition::value(metric m, double v, std::string_view first, std::string_view second) {
  prometheus::ClientMetric* const sample = impl_->add(m, first, second);
  if (sample == nullptr) return;
  if (describe(m).kind == metric_kind::counter) {
    sample->counter.value = v;
  } else {
    sample->gauge.value = v;
  }
}

void exposition::durations(metric m, const histogram_sum& h, std::string_view first) {
  prometheus::ClientMetric* const sample = impl_->add(m, first, {});
  if (sample == nullptr) return;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < h.bounds.size(); ++i) {
    cumulative += h.counts[i];
    sample->histogram.bucket.push_back({cumulative, seconds(h.bounds[i])});
  }
  sample->histogram.sample_count = h.count();
  sample->histogram.sample_sum = static_cast<double>(h.sum_ns) / 1e9;
  impl_->series += h.bounds.size() + 2;
}

std::string exposition::text() const {
  std::vector<prometheus::MetricFamily> families;
  for (std::size_t i = 0; i < impl_->of.size(); ++i) {
    if (impl_->of[i].empty()) continue;
    const description& d = describe(static_cast<metric>(i));
    families.push_back({std::string(d.name), std::string(d.help), type_of(d.kind), impl_->of[i]});
  }
  return prometheus::TextSerializer{}.Serializer::Serialize(families);
}

}  // namespace penstock::telemetry
