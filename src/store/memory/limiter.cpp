// The public limiter: one counter over a memory store of its own.
#include <algorithm>
#include <span>
#include <utility>

#include <penstock/limiter.hpp>

#include "store/memory/memory_store.hpp"

namespace penstock {

struct limiter::impl {
  counter what;
  std::unique_ptr<store::memory_store> store;

  verdict ask(std::string_view key, instant now, std::int64_t cost, store::intent why) {
    const charge one{.what = &what, .key = key, .cost = std::max<std::int64_t>(cost, 0)};
    verdict answer;
    store::batch b{.charges = std::span(&one, 1), .verdicts = std::span(&answer, 1), .why = why};
    store->check(b, now);
    return answer;
  }
};

result<limiter> limiter::create(const quota& q, limiter_options options) {
  auto compiled = quotas::compile(q);
  if (!compiled) return compiled.error();
  auto store = store::memory_store::create({.max_bytes = options.max_bytes});
  if (!store) return store.error();
  return limiter(std::make_unique<impl>(
      impl{.what = {.id = "limiter", .quota = *std::move(compiled)}, .store = *std::move(store)}));
}

limiter::limiter(std::unique_ptr<impl> p) noexcept : impl_(std::move(p)) {}
limiter::limiter(limiter&&) noexcept = default;
limiter& limiter::operator=(limiter&&) noexcept = default;
limiter::~limiter() = default;

verdict limiter::check(std::string_view key, instant now, std::int64_t cost) {
  return impl_->ask(key, now, cost, store::intent::take);
}

verdict limiter::peek(std::string_view key, instant now, std::int64_t cost) const {
  return impl_->ask(key, now, cost, store::intent::peek);
}

void limiter::reset(std::string_view key) {
  impl_->store->reset(impl_->what, key);
}

}  // namespace penstock
