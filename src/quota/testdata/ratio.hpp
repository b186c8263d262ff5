// Exact fractions for the reference model. Aborts rather than overflow: a test that needs more than
// 127 bits is a wrong test.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace penstock::quotas::testdata {

__extension__ using wide = __int128;

class ratio {
 public:
  ratio(wide n = 0, wide d = 1) : n_(n), d_(d) {  // NOLINT: implicit by intent
    wide a = n_ < 0 ? -n_ : n_;
    wide b = d_;
    while (b != 0) {
      const wide r = a % b;
      a = b;
      b = r;
    }
    n_ /= a;
    d_ /= a;
  }

  friend ratio operator+(const ratio& a, const ratio& b) {
    return {sum(product(a.n_, b.d_), product(b.n_, a.d_)), product(a.d_, b.d_)};
  }
  friend ratio operator-(const ratio& a, const ratio& b) { return a + ratio{-b.n_, b.d_}; }
  friend ratio operator*(const ratio& a, const ratio& b) {
    return ratio{a.n_, b.d_}.times(ratio{b.n_, a.d_});
  }
  friend ratio operator/(const ratio& a, const ratio& b) { return a * ratio{b.d_, b.n_}; }
  friend bool operator<(const ratio& a, const ratio& b) {
    return product(a.n_, b.d_) < product(b.n_, a.d_);
  }
  friend bool operator<=(const ratio& a, const ratio& b) { return !(b < a); }
  friend bool operator==(const ratio& a, const ratio& b) { return a.n_ == b.n_ && a.d_ == b.d_; }

  [[nodiscard]] std::int64_t numerator() const { return static_cast<std::int64_t>(n_); }
  [[nodiscard]] std::int64_t floor() const {
    return static_cast<std::int64_t>(n_ >= 0 ? n_ / d_ : -((-n_ + d_ - 1) / d_));
  }
  [[nodiscard]] std::int64_t ceil() const { return -ratio{-n_, d_}.floor(); }

 private:
  [[nodiscard]] ratio times(const ratio& b) const { return {product(n_, b.n_), product(d_, b.d_)}; }
  static wide product(wide a, wide b) {
    wide r = 0;
    if (__builtin_mul_overflow(a, b, &r)) std::abort();
    return r;
  }
  static wide sum(wide a, wide b) {
    wide r = 0;
    if (__builtin_add_overflow(a, b, &r)) std::abort();
    return r;
  }

  wide n_;
  wide d_;
};

}  // namespace penstock::quotas::testdata
