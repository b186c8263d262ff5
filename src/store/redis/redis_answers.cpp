// What Redis answers, and what becomes of the request.
#include <algorithm>
#include <utility>

#include "store/redis/redis_store.hpp"
#include "store/redis/reply_error.hpp"
#include "store/redis/request_args.hpp"

namespace penstock::store::redis {
namespace {

namespace resp = net::resp;

constexpr std::uint8_t resent_max = 8;
constexpr std::chrono::milliseconds try_again_after{3};
constexpr std::size_t image_max = 255;  // octets; the longest state has 36
constexpr std::size_t fields = 6;       // of a charge in the answer of a check

}  // namespace

void redis_store::answered(link& l, call& c, std::span<const resp::node> answer) {
  part& p = static_cast<part&>(c);
  if (answer.front().kind == resp::type::error) {
    answered_error(l, p, answer.front().text);
    return;
  }
  l.succeeded(clock::now());
  take_answer(p, answer);
}

void redis_store::take_answer(part& p, std::span<const resp::node> answer) {
  if (const auto then = std::exchange(p.of->then, nullptr)) {
    part_done(p);
    then(answer);
    return;
  }
  if (p.of->state != request_state::telling && p.of->waiting != nullptr &&
      !read_verdicts(p, answer)) {
    fail(p, counts_.unusable_answers);
    return;
  }
  part_done(p);
}

bool redis_store::read_verdicts(part& p, std::span<const resp::node> answer) {
  batch& b = *p.of->waiting;
  const std::size_t numbers = 2 + fields * p.charges.size();
  const bool images =
      p.of->used > 1 && p.of->state == request_state::checking && b.why == intent::take;
  if (answer.size() != numbers + (images ? 2 * p.charges.size() : 0)) return false;
  for (std::size_t i = 1; i < numbers; ++i) {
    if (answer[i].kind != resp::type::integer) return false;
  }
  // Never made shorter: the strings keep their memory from use to use.
  if (images && p.images.size() < p.charges.size()) p.images.resize(p.charges.size());
  for (std::size_t i = 0; images && i < p.charges.size(); ++i) {
    p.images[i].before = answer[numbers + 2 * i].text;
    p.images[i].after = answer[numbers + 2 * i + 1].text;
    if (p.images[i].before.size() > image_max || p.images[i].after.size() > image_max) return false;
  }
  p.decided_at = instant{duration{answer[1].number}};
  p.admitted = true;
  for (std::size_t i = 0; i < p.charges.size(); ++i) {
    const charge& c = b.charges[p.charges[i]];
    const auto field = answer.subspan(2 + fields * i, fields);
    const auto wait = [&](std::size_t k) {
      return duration{field[k].number * c.what->quota.tick_us};
    };
    verdict& v = b.verdicts[p.charges[i]];
    v.admitted = (field[0].number & 1) != 0;
    v.never = (field[0].number & 2) != 0;
    v.limit = c.what->quota.capacity;
    v.remaining = field[1].number;
    v.retry_after = wait(2);
    v.reset_after = wait(3);
    v.next_after = wait(4);
    v.delay = wait(5);
    if (!v.admitted && c.as == role::enforce) p.admitted = false;
  }
  return true;
}

void redis_store::part_done(part& p) {
  request& r = *p.of;
  p.open = false;
  if (--r.open > 0) return;
  if (r.state != request_state::checking || r.waiting == nullptr) {
    finish(r, false);
    return;
  }
  batch& b = *r.waiting;
  bool admitted = true;
  b.decided_at = r.parts[0]->decided_at;
  for (std::size_t i = 0; i < r.used; ++i) {
    admitted = admitted && r.parts[i]->admitted;
    b.decided_at = std::max(b.decided_at, r.parts[i]->decided_at);
  }
  if (admitted || r.used == 1) {
    finish(r, false);
  } else {
    undo(r);
  }
}

// Some slot refused: where everything was admitted, take it back and decide again as refused.
void redis_store::undo(request& r) {
  batch& b = *r.waiting;
  r.state = request_state::undoing;
  const auto now = clock::now();
  for (std::size_t i = 0; i < r.used; ++i) {
    part& p = *r.parts[i];
    if (!p.admitted) continue;
    link* to = route(p.slot);
    if (to == nullptr || !to->takes_calls()) continue;
    const auto charges = charges_of(p, b.charges);
    verdicts_.clear();
    for (const std::uint16_t k : p.charges) verdicts_.push_back(b.verdicts[k]);
    args_.clear();
    append_undo_args(args_, charges, verdicts_, p.images, p.decided_at,
                     b.why == intent::peek ? request_kind::peek : request_kind::take, given(now_));
    encode(p, undo_script(), charges);
    p.by_text = p.asking = false;
    p.resent = 0;
    p.open = true;
    ++r.open;
    ++counts_.undone;
  }
  if (r.open == 0) {
    finish(r, false);
    return;
  }
  for (std::size_t i = 0; i < r.used; ++i) {
    if (r.parts[i]->open) route(r.parts[i]->slot)->send(*r.parts[i], now);
  }
}

void redis_store::finish(request& r, bool failed) {
  (r.earlier == nullptr ? first_ : r.earlier->later) = r.later;
  (r.later == nullptr ? last_ : r.later->earlier) = r.earlier;
  batch* const waiting = r.waiting;
  const auto then = std::exchange(r.then, nullptr);
  give_back(r);
  if (then) then({});
  if (waiting == nullptr) return;
  waiting->failed = failed;
  if (waiting->on_done != nullptr) waiting->on_done(*waiting);
}

void redis_store::fail(part& p, cell& reason) {
  request& r = *p.of;
  if (r.state == request_state::undoing) {  // the refusal stands
    part_done(p);
    return;
  }
  if (r.waiting != nullptr) ++reason;
  finish(r, true);
}

void redis_store::lost(link& /*l*/, call& c) {
  fail(static_cast<part&>(c), counts_.disconnects);
}

void redis_store::answered_error(link& l, part& p, std::string_view text) {
  const auto now = clock::now();
  switch (classify_error(text)) {
    case error_kind::no_script:
      if (p.what == nullptr || p.by_text) break;
      ++counts_.resent_scripts;
      p.by_text = true;
      resend(p, l);
      return;
    case error_kind::moved: {
      const redirection to = parse_redirection(text);
      if (!is_cluster() || to.slot < 0) break;
      ++counts_.redirections;
      link& there = node_at(
          {.host = to.host.empty() ? l.target().at.host : std::string(to.host), .port = to.port});
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].connection.get() == &there) {
          node_of_slot_[static_cast<std::size_t>(to.slot)] = static_cast<std::int16_t>(i);
        }
      }
      refresh_map();
      p.asking = false;
      resend(p, there);
      return;
    }
    case error_kind::ask: {
      const redirection to = parse_redirection(text);
      if (!is_cluster() || to.slot < 0) break;
      ++counts_.redirections;
      p.asking = true;
      resend(p, node_at({.host = to.host.empty() ? l.target().at.host : std::string(to.host),
                         .port = to.port}));
      return;
    }
    case error_kind::try_again:
      ++counts_.redirections;
      resend_soon(p);
      return;
    case error_kind::not_master:
      l.replace(text.substr(0, 120));
      if (is_cluster()) refresh_map();
      resend(p, l);
      return;
    case error_kind::busy:
      if (is_cluster()) refresh_map();
      break;
    case error_kind::refused:
    case error_kind::other:
      break;
  }
  // Nothing depends on the board: a missing right to it must not end the use of a node that counts.
  if (p.of->state == request_state::asking) {
    finish(*p.of, true);
    return;
  }
  // The breaker may open and end the request on the way.
  const std::uint64_t generation = p.generation;
  l.failed(now, text.substr(0, 120));
  if (p.generation == generation) fail(p, counts_.unusable_answers);
}

// What was not executed is sent again, as long as its deadline has not passed.
void redis_store::resend(part& p, link& to) {
  if (++p.resent > resent_max || !to.takes_calls()) {
    fail(p, counts_.unusable_answers);
    return;
  }
  to.send(p, clock::now());
}

void redis_store::resend_soon(part& p) {
  auto timer = std::make_shared<boost::asio::steady_timer>(context_, try_again_after);
  timer->async_wait([self = self_, timer, &p,
                     generation = p.generation](const boost::system::error_code& failed) {
    if (*self == nullptr || failed || p.generation != generation) return;
    link* to = (*self)->route(p.slot);
    if (to == nullptr) {
      (*self)->fail(p, (*self)->counts_.unusable_answers);
    } else {
      (*self)->resend(p, *to);
    }
  });
}

}  // namespace penstock::store::redis
