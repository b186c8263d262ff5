// One scrape in the making: values of metrics of the catalogue, then the Prometheus text format.
// Rendered by prometheus-cpp's serialiser; its types stay inside exposition.cpp. Not thread-safe:
// one object per scrape.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "telemetry/catalogue.hpp"
#include "telemetry/histogram.hpp"

namespace penstock::telemetry {

// What /metrics answers with; Prometheus 3 refuses a scrape without it.
inline constexpr std::string_view exposition_content_type =
    "text/plain; version=0.0.4; charset=utf-8";

// A bound on the series of one scrape, whatever the configuration; what is beyond it is left out.
inline constexpr std::size_t series_max = 10'000;

class exposition {
 public:
  exposition();
  ~exposition();
  exposition(exposition&&) noexcept;
  exposition& operator=(exposition&&) noexcept;

  // Adds one sample. Label values in the order of the catalogue; "" leaves the label out. Two
  // samples of one metric with the same labels must not be added.
  void value(metric m, double v, std::string_view first = {}, std::string_view second = {});
  void value(metric m, std::uint64_t v, std::string_view first = {}, std::string_view second = {}) {
    value(m, static_cast<double>(v), first, second);
  }
  void durations(metric m, const histogram_sum& h, std::string_view first = {});

  // Metrics in the order of the catalogue; those without a sample are absent.
  [[nodiscard]] std::string text() const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace penstock::telemetry
