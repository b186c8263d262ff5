#include "net/http1_date.hpp"

#include <algorithm>
#include <chrono>

namespace penstock::net::http1 {

namespace {

void put_digits(std::span<char> to, unsigned n) noexcept {
  for (std::size_t i = to.size(); i-- > 0; n /= 10U) to[i] = static_cast<char>('0' + n % 10U);
}

void put_text(std::span<char> to, std::string_view text) noexcept {
  std::ranges::copy(text, to.begin());
}

}  // namespace

void format_date(std::int64_t epoch_s, std::span<char, date_size> out) noexcept {
  using namespace std::chrono;
  constexpr std::string_view days = "SunMonTueWedThuFriSat";
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr sys_seconds first = sys_days{year{0} / January / 1};
  constexpr sys_seconds last = sys_days{year{10000} / January / 1} - seconds{1};

  const sys_seconds when{seconds{std::clamp(epoch_s, std::int64_t{first.time_since_epoch().count()},
                                            std::int64_t{last.time_since_epoch().count()})}};
  const sys_days day = floor<std::chrono::days>(when);
  const year_month_day date{day};
  const auto in_day = static_cast<unsigned>((when - day).count());

  put_text(out, "Thu, 01 Jan 1970 00:00:00 GMT");
  put_text(out, days.substr(3U * weekday{day}.c_encoding(), 3));
  put_digits(out.subspan<5, 2>(), static_cast<unsigned>(date.day()));
  put_text(out.subspan<8>(), months.substr(3U * (static_cast<unsigned>(date.month()) - 1U), 3));
  put_digits(out.subspan<12, 4>(), static_cast<unsigned>(static_cast<int>(date.year())));
  put_digits(out.subspan<17, 2>(), in_day / 3600U);
  put_digits(out.subspan<20, 2>(), in_day / 60U % 60U);
  put_digits(out.subspan<23, 2>(), in_day % 60U);
}

std::string_view date_cache::at(std::int64_t epoch_s) noexcept {
  if (!filled_ || epoch_s != epoch_s_) {
    format_date(epoch_s, text_);
    epoch_s_ = epoch_s;
    filled_ = true;
  }
  return {text_.data(), text_.size()};
}

}  // namespace penstock::net::http1
