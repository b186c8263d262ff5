#include "telemetry/space_saving.hpp"

#include <algorithm>
#include <bit>

namespace penstock::telemetry {

space_saving::space_saving(std::size_t places)
    : mask_(std::bit_ceil(places * 2) - 1),
      places_(places),
      heap_(places),
      buckets_(mask_ + 1, none) {
  for (place& p : places_) p.key.reserve(key_text_max);
}

// The bucket that holds `id`, or the free one where it belongs.
std::size_t space_saving::bucket_of(std::uint64_t id) const noexcept {
  std::size_t b = static_cast<std::size_t>(id) & mask_;
  while (buckets_[b] != none && places_[buckets_[b]].id != id) b = (b + 1) & mask_;
  return b;
}

// Frees the bucket of `id` and moves up what was pushed past it (Knuth 6.4, algorithm R).
void space_saving::unlink(std::uint64_t id) noexcept {
  std::size_t hole = bucket_of(id);
  buckets_[hole] = none;
  for (std::size_t b = (hole + 1) & mask_; buckets_[b] != none; b = (b + 1) & mask_) {
    const std::size_t home = static_cast<std::size_t>(places_[buckets_[b]].id) & mask_;
    const bool may_move = ((b - home) & mask_) >= ((b - hole) & mask_);
    if (!may_move) continue;
    buckets_[hole] = buckets_[b];
    buckets_[b] = none;
    hole = b;
  }
}

void space_saving::put(std::size_t at, std::uint16_t p) noexcept {
  heap_[at] = p;
  places_[p].heap_at = static_cast<std::uint16_t>(at);
}

void space_saving::sift_down(std::size_t at) noexcept {
  const std::uint16_t moving = heap_[at];
  const std::uint64_t count = places_[moving].count;
  for (std::size_t child = 2 * at + 1; child < used_; child = 2 * at + 1) {
    if (child + 1 < used_ && places_[heap_[child + 1]].count < places_[heap_[child]].count) ++child;
    if (places_[heap_[child]].count >= count) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, moving);
}

void space_saving::sift_up(std::size_t at) noexcept {
  const std::uint16_t moving = heap_[at];
  while (at > 0 && places_[heap_[(at - 1) / 2]].count > places_[moving].count) {
    put(at, heap_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  put(at, moving);
}

void space_saving::add(std::uint64_t id, slot limit, std::string_view key) noexcept {
  ++total_;
  std::size_t b = bucket_of(id);
  if (buckets_[b] != none) {
    place& p = places_[buckets_[b]];
    ++p.count;
    sift_down(p.heap_at);
    return;
  }
  std::uint16_t chosen = 0;
  if (used_ < places_.size()) {
    chosen = static_cast<std::uint16_t>(used_++);
    places_[chosen].count = 0;
    heap_[used_ - 1] = chosen;
  } else {
    chosen = heap_[0];
    unlink(places_[chosen].id);
    b = bucket_of(id);
  }
  place& p = places_[chosen];
  p.id = id;
  p.limit = limit;
  p.key.assign(key.substr(0, key_text_max));
  p.error = p.count;
  ++p.count;
  buckets_[b] = chosen;
  if (p.error == 0) {
    sift_up(used_ - 1);
  } else {
    sift_down(0);
  }
}

void space_saving::clear() noexcept {
  std::ranges::fill(buckets_, none);
  used_ = 0;
  total_ = 0;
}

key_summary space_saving::summary() const {
  key_summary out;
  out.total = total_;
  out.keys.reserve(used_);
  for (std::size_t i = 0; i < used_; ++i) {
    const place& p = places_[i];
    out.keys.push_back({p.id, p.limit, p.key, p.count - p.error, p.count});
  }
  if (used_ == places_.size()) out.floor = places_[heap_[0]].count;
  return out;
}

}  // namespace penstock::telemetry
