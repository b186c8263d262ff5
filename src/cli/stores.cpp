#include "cli/stores.hpp"

#include <utility>

#include "store/redis/redis_url.hpp"

namespace penstock::cli {
namespace {

store::redis::topology topology_of(config::store_kind k) {
  switch (k) {
    case config::store_kind::sentinel:
      return store::redis::topology::sentinel;
    case config::store_kind::cluster:
      return store::redis::topology::cluster;
    case config::store_kind::redis:
      break;
  }
  return store::redis::topology::standalone;
}

}  // namespace

result<store::redis::redis_url> redis_url_of(const config::store_url& u) {
  // What stands behind '?' is the store's own grammar, and depends on what stands in front.
  const bool sentinel = u.kind == config::store_kind::sentinel;
  std::string stand_in = u.tls ? "rediss" : "redis";
  stand_in += sentinel ? "+sentinel://localhost/main" : "://localhost";
  if (!u.options.empty()) stand_in += "?" + u.options;
  auto parsed = store::redis::parse_redis_url(stand_in);
  if (!parsed) return parsed.error();
  auto url = std::move(*parsed);
  url.kind = topology_of(u.kind);
  url.hosts.clear();
  for (const auto& h : u.hosts) url.hosts.push_back({h.host, h.port});
  url.unix_path = u.unix_path;
  url.login = {u.user, u.password};
  url.master_name = u.master;
  url.database = u.database;
  url.tls.enabled = u.tls;
  return url;
}

result<std::unique_ptr<stores>> stores::open(
    const config::store_config& c, std::vector<net::loop*> loops,
    std::function<void(bool up, const std::string& text)> changed) {
  std::unique_ptr<stores> s(new stores);
  auto memory =
      store::memory_store::create({.max_bytes = static_cast<std::size_t>(c.memory.max_bytes)});
  if (!memory) return memory.error();
  s->memory_ = std::move(*memory);
  if (!c.url) return s;

  auto url = redis_url_of(*c.url);
  if (!url) return error{errc::invalid_config, "store.url: " + url.error().message};
  s->description_ = store::redis::describe(*url);
  s->changed_ = std::move(changed);
  s->of_loop_.resize(loops.size());
  s->first_loop_ = loops.front();
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::uint64_t left = random_secret().hi, i = 0; i < 16; ++i, left >>= 4U) {
    s->instance_ += digits[left & 15U];
  }
  for (std::size_t i = 0; i < loops.size(); ++i) {
    auto one = store::redis::redis_store::make(
        loops[i]->context(),
        {.url = *url,
         .deadline = std::chrono::ceil<std::chrono::milliseconds>(c.deadline),
         .key_prefix = c.prefix,
         .key_version = static_cast<int>(c.key_version),
         .seed = random_secret().lo,
         .on_event = [owner = s.get(), i](const auto& e) { owner->told(i, e); }});
    if (!one) return one.error();
    s->remote_.push_back(std::move(*one));
    s->refusals_.push_back(std::make_unique<service::refusal_memory>(random_secret()));
  }
  return s;
}

store::store& stores::of_loop(std::size_t i) noexcept {
  if (remote()) return *remote_[i];
  return *memory_;
}

service::refusal_memory* stores::refusals_of_loop(std::size_t i) noexcept {
  return remote() ? refusals_[i].get() : nullptr;
}

std::uint64_t stores::sum(cell store::redis::redis_cells::*of) const noexcept {
  std::uint64_t n = 0;
  for (const auto& one : remote_) n += (one->cells().*of).get();
  return n;
}

void stores::look_at_memory(instant now) {
  if (!remote() || now < next_memory_look_) return;
  next_memory_look_ = now + std::chrono::seconds(5);
  first_loop_->post([this] {
    // What came of the question before this one.
    remote_memory_.store(remote_.front()->memory_used(), std::memory_order_relaxed);
    remote_.front()->ask_memory();
  });
}

void stores::post(std::string notice) {
  first_loop_->post(
      [this, notice = std::move(notice)] { remote_.front()->post(instance_, notice); });
}

void stores::read_board(std::function<void(store::redis::redis_store::board)> then) {
  first_loop_->post(
      [this, then = std::move(then)] { remote_.front()->read_board(instance_, then); });
}

// All loops see the same outage; one line for the first that notices and one for the last that
// recovers. That a store is found at the start is no news.
void stores::told(std::size_t loop, const store::redis::store_event& e) {
  using kind = store::redis::store_event::kind;
  const std::string text = e.node + (e.text.empty() ? "" : ": " + e.text);
  if (e.what == kind::remark) {
    if (loop == 0) changed_(!failed(), text);
    return;
  }
  const found now = e.what == kind::serving ? found::up : found::down;
  const found before = std::exchange(of_loop_[loop], now);
  if (before == now) return;
  if (now == found::up) {
    ++up_;
    if (before == found::down && down_.fetch_sub(1) == 1) changed_(true, text);
  } else {
    if (before == found::up) --up_;
    if (down_.fetch_add(1) == 0) changed_(false, text);
  }
}

}  // namespace penstock::cli
