// Calls of the contract: from charges to commands, and their deadlines.
#include "store/redis/redis_store.hpp"

#include <algorithm>
#include <utility>

#include "store/redis/request_args.hpp"

namespace penstock::store::redis {
namespace {

// Records and refunds have nobody who waits; they may take longer than a decision.
constexpr std::chrono::milliseconds telling_patience{1'000};
// That wait for the first map, those that have ended meanwhile included.
constexpr std::size_t parked_max = 50'000;

}  // namespace

result<std::unique_ptr<redis_store>> redis_store::make(boost::asio::io_context& context,
                                                       redis_options options) {
  std::shared_ptr<tls_context> tls;
  if (options.url.tls.enabled) {
    auto made = tls_context::make(options.url.tls);
    if (!made) return made.error();
    tls = *made;
  }
  std::unique_ptr<redis_store> store(new redis_store(context, std::move(options), std::move(tls)));
  store->start();
  return store;
}

redis_store::redis_store(boost::asio::io_context& context, redis_options options,
                         std::shared_ptr<tls_context> tls)
    : context_(context),
      options_(std::move(options)),
      tls_(std::move(tls)),
      name_head_(options_.key_prefix + ":" + std::to_string(options_.key_version) + ":{"),
      map_timer_(context),
      deadline_timer_(context),
      random_state_(options_.seed | 1U) {
  node_of_slot_.fill(-1);
}

redis_store::~redis_store() {
  *self_ = nullptr;
  for (node& n : nodes_) n.connection->close();
}

std::uint64_t redis_store::random() {  // xorshift64*
  random_state_ ^= random_state_ >> 12U;
  random_state_ ^= random_state_ << 25U;
  random_state_ ^= random_state_ >> 27U;
  return random_state_ * 0x2545f4914f6cdd1dULL;
}

request& redis_store::take_request(request_state state, batch* waiting) {
  if (free_ == nullptr) {
    all_requests_.push_back(std::make_unique<request>());
    free_ = all_requests_.back().get();
  }
  request& r = *free_;
  free_ = r.later;
  r.later = r.earlier = nullptr;
  r.state = state;
  r.waiting = waiting;
  r.used = r.open = 0;
  return r;
}

part& redis_store::add_part(request& r, int slot) {
  if (r.used == r.parts.size()) r.parts.push_back(std::make_unique<part>());
  part& p = *r.parts[r.used++];
  p.of = &r;
  p.slot = slot;
  p.charges.clear();
  p.resent = 0;
  p.open = p.admitted = p.by_text = p.asking = false;
  return p;
}

// Answers that still come for it are dropped by their generation.
void redis_store::give_back(request& r) noexcept {
  for (std::size_t i = 0; i < r.used; ++i) ++r.parts[i]->generation;
  r.waiting = nullptr;
  r.later = free_;
  free_ = &r;
}

void redis_store::append_name(std::string& out, const counter& what, std::string_view key) const {
  out.append(name_head_).append(key).append("}:").append(what.id);
}

std::optional<instant> redis_store::given(instant now) const {
  return options_.decide_at_callers_time ? std::optional(now) : std::nullopt;
}

// One part per slot; without Cluster there are no slots and so one part.
void redis_store::split(request& r, std::span<const charge> charges) {
  for (std::size_t i = 0; i < charges.size(); ++i) {
    int slot = 0;
    if (is_cluster()) {
      name_.clear();
      append_name(name_, *charges[i].what, charges[i].key);
      slot = slot_of(name_);
    }
    part* home = nullptr;
    for (std::size_t k = 0; k < r.used && home == nullptr; ++k) {
      if (r.parts[k]->slot == slot) home = r.parts[k].get();
    }
    if (home == nullptr) home = &add_part(r, slot);
    home->charges.push_back(static_cast<std::uint16_t>(i));
  }
}

std::span<const charge> redis_store::charges_of(const part& p, std::span<const charge> all) {
  if (p.charges.size() == all.size()) return all;
  subset_.clear();
  for (const std::uint16_t i : p.charges) subset_.push_back(all[i]);
  return subset_;
}

// `args_` holds the arguments.
void redis_store::encode(part& p, const script& s, std::span<const charge> charges) {
  p.what = &s;
  p.words = charges.size() + 2;
  p.tail.clear();
  net::resp::append_bulk(p.tail, static_cast<std::int64_t>(charges.size()));
  for (const charge& c : charges) {
    name_.clear();
    append_name(name_, *c.what, c.key);
    net::resp::append_bulk(p.tail, name_);
  }
  net::resp::append_bulk(p.tail, args_);
}

void redis_store::enlist(request& r, clock::time_point now) {
  r.deadline = now + (r.state == request_state::telling || r.state == request_state::asking
                          ? std::max<std::chrono::milliseconds>(options_.deadline, telling_patience)
                          : options_.deadline);
  // Nearly always the latest of all.
  request* before = last_;
  while (before != nullptr && before->deadline > r.deadline) before = before->earlier;
  r.earlier = before;
  r.later = before == nullptr ? first_ : before->later;
  (r.later == nullptr ? last_ : r.later->earlier) = &r;
  (before == nullptr ? first_ : before->later) = &r;
  arm_deadline();
}

bool redis_store::launch(request& r, clock::time_point now) {
  if (awaits_map() && parked_.size() < parked_max) {
    enlist(r, now);
    parked_.push_back({&r, r.parts[0]->generation});
    return true;
  }
  if (!can_send(r)) return false;
  enlist(r, now);
  send(r, now);
  return true;
}

bool redis_store::can_send(const request& r) {
  for (std::size_t i = 0; i < r.used; ++i) {
    const link* to = route(r.parts[i]->slot);
    if (to == nullptr) refresh_map();
    if (to == nullptr || !to->takes_calls()) return false;
  }
  return true;
}

void redis_store::send(request& r, clock::time_point now) {
  if (r.state != request_state::asking) ++counts_.calls;
  r.open = r.used;
  for (std::size_t i = 0; i < r.used; ++i) {
    r.parts[i]->open = true;
    route(r.parts[i]->slot)->send(*r.parts[i], now);
  }
}

// The first map is known, or the first attempt to get one has failed.
void redis_store::end_parking(bool send_them) {
  const auto now = clock::now();
  const auto alive = self_;
  for (const auto& [r, generation] : std::exchange(parked_, {})) {
    if (r->parts[0]->generation != generation) continue;
    if (send_them && can_send(*r)) {
      send(*r, now);
    } else {
      fail(*r->parts[0], counts_.disconnects);
    }
    if (*alive == nullptr) return;
  }
}

progress redis_store::check(batch& b, instant now) {
  b.failed = false;
  b.decided_at = now;
  if (b.charges.empty()) return progress::done;
  now_ = now;
  request& r = take_request(request_state::checking, &b);
  split(r, b.charges);
  for (std::size_t i = 0; i < r.used; ++i) {
    const auto charges = charges_of(*r.parts[i], b.charges);
    args_.clear();
    append_check_args(args_, charges,
                      b.why == intent::peek ? request_kind::peek
                      : r.used > 1          ? request_kind::take_with_images
                                            : request_kind::take,
                      given(now));
    encode(*r.parts[i], check_script(charges), charges);
  }
  if (launch(r, clock::now())) return progress::pending;
  give_back(r);
  ++counts_.skipped;
  b.failed = true;
  return progress::done;
}

void redis_store::abandon(batch& b) {
  for (request* r = first_; r != nullptr; r = r->later) {
    if (r->waiting == &b) r->waiting = nullptr;
  }
}

void redis_store::record(std::span<const charge> charges, instant now) {
  if (charges.empty()) return;
  request& r = take_request(request_state::telling, nullptr);
  split(r, charges);
  for (std::size_t i = 0; i < r.used; ++i) {
    const auto mine = charges_of(*r.parts[i], charges);
    args_.clear();
    append_check_args(args_, mine, request_kind::record, given(now));
    encode(*r.parts[i], record_script(), mine);
  }
  if (!launch(r, clock::now())) give_back(r);
}

void redis_store::refund(std::span<const charge> charges, instant charged_at, instant now) {
  if (charges.empty()) return;
  request& r = take_request(request_state::telling, nullptr);
  split(r, charges);
  for (std::size_t i = 0; i < r.used; ++i) {
    const auto mine = charges_of(*r.parts[i], charges);
    args_.clear();
    append_refund_args(args_, mine, charged_at, given(now));
    encode(*r.parts[i], refund_script(), mine);
  }
  if (!launch(r, clock::now())) give_back(r);
}

void redis_store::reset(const counter& what, std::string_view key) {
  request& r = take_request(request_state::telling, nullptr);
  const charge one{.what = &what, .key = key};
  split(r, {&one, 1});
  part& p = *r.parts[0];
  name_.clear();
  append_name(name_, what, key);
  p.what = nullptr;
  p.tail.clear();
  net::resp::append_array(p.tail, 2);
  net::resp::append_bulk(p.tail, std::string_view("DEL"));
  net::resp::append_bulk(p.tail, name_);
  if (!launch(r, clock::now())) give_back(r);
}

void redis_store::ask_board(const script& s, std::initializer_list<std::string_view> args,
                            std::function<void(std::span<const net::resp::node>)> then) {
  request& r = take_request(request_state::asking, nullptr);
  name_.assign(name_head_).append("offenders}");
  part& p = add_part(r, is_cluster() ? slot_of(name_) : 0);
  p.what = &s;
  p.by_text = true;  // too rare to be kept by the server
  p.words = 2 + args.size();
  p.tail.clear();
  net::resp::append_bulk(p.tail, std::int64_t{1});
  net::resp::append_bulk(p.tail, name_);
  for (const std::string_view a : args) net::resp::append_bulk(p.tail, a);
  r.then = std::move(then);
  if (launch(r, clock::now())) return;
  const auto failed = std::exchange(r.then, nullptr);
  give_back(r);
  failed({});
}

void redis_store::post(std::string_view who, std::string_view notice) {
  if (notice.size() > notice_max) return;
  ask_board(board_post_script(), {who, notice, std::to_string(notice_life.count())}, [](auto) {});
}

void redis_store::read_board(std::string_view who, std::function<void(board)> then) {
  ask_board(board_read_script(),
            {who, std::to_string(notice_life.count()), std::to_string(notices_max),
             std::to_string(notice_max), std::to_string(board_max)},
            [then = std::move(then)](std::span<const net::resp::node> answer) {
              using net::resp::type;
              board b;
              if (answer.size() >= 2 && answer[0].kind == type::array &&
                  answer[1].kind == type::integer) {
                b.answered = true;
                b.whole = answer[1].number == 0;
                for (const auto& n : answer.subspan(2)) {
                  if (n.kind == type::bulk_string) b.notices.emplace_back(n.text);
                }
              }
              then(std::move(b));
            });
}

// One timer for all: it is set for the earliest request and looks again when it fires.
void redis_store::arm_deadline() {
  if (deadline_armed_ || first_ == nullptr) return;
  deadline_armed_ = true;
  deadline_timer_.expires_at(first_->deadline);
  deadline_timer_.async_wait([self = self_](const boost::system::error_code& failed) {
    if (*self == nullptr || failed) return;
    (*self)->deadline_armed_ = false;
    (*self)->deadline_due();
  });
}

void redis_store::deadline_due() {
  const auto now = clock::now();
  for (node& n : nodes_) n.connection->check_stale(now);
  const auto alive = self_;
  while (first_ != nullptr && first_->deadline <= now) {
    request& r = *first_;
    if (r.state == request_state::checking || r.state == request_state::undoing) {
      ++counts_.timeouts;
    }
    // A refusal stands, also when what the other slots took could not be taken back in time.
    const bool failed = r.state == request_state::checking;
    // The breaker may open and end the request on the way; then it may be another one already.
    const std::uint64_t generation = r.parts[0]->generation;
    for (std::size_t i = 0; i < r.used && r.parts[0]->generation == generation; ++i) {
      link* at = r.parts[i]->open ? route(r.parts[i]->slot) : nullptr;
      if (at != nullptr && r.state != request_state::asking) at->failed(now, "no answer in time");
    }
    if (r.parts[0]->generation == generation) finish(r, failed);
    if (*alive == nullptr) return;
  }
  arm_deadline();
}

}  // namespace penstock::store::redis
