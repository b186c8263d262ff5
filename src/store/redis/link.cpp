#include "store/redis/link.hpp"

#include <array>
#include <charconv>

#include "store/redis/reply_error.hpp"

namespace penstock::store::redis {
namespace {

namespace resp = net::resp;

constexpr std::chrono::milliseconds connect_patience{1'000};
constexpr std::chrono::milliseconds probe_patience{500};
constexpr std::chrono::milliseconds silence_max{1'000};
constexpr std::chrono::milliseconds stable_after{100};
constexpr std::size_t in_flight_max = 50'000;
constexpr std::size_t backlog_max = std::size_t{8} << 20U;
// Writes as a check does, so that it fails where a check would: read only, out of memory, no
// rights.
constexpr std::string_view probe_script = "return redis.call('PSETEX', KEYS[1], 1000, '')";

bool is_error(std::span<const resp::node> answer) {
  return answer.front().kind == resp::type::error;
}

std::string_view line_of(std::string_view info, std::string_view name) {
  const std::size_t at = info.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + name.size());
  return rest.substr(0, rest.find('\r'));
}

}  // namespace

link::link(boost::asio::io_context& context, link_owner& owner, link_settings settings)
    : context_(context), owner_(&owner), settings_(std::move(settings)), timer_(context) {}

link::~link() {
  close();
}

void link::close() {
  state_ = state::closed;
  ++timer_generation_;
  timer_.cancel();
  if (wire_ != nullptr) wire_->drop();
  wire_.reset();
  pending_.clear();
  unsent_.clear();
}

void link::at(clock::time_point when, void (link::*then)()) {
  const std::uint64_t generation = ++timer_generation_;
  timer_.expires_at(when);
  timer_.async_wait([weak = weak_from_this(), generation, then](const boost::system::error_code&) {
    const auto self = weak.lock();
    if (self != nullptr && self->timer_generation_ == generation) ((*self).*then)();
  });
}

void link::start() {
  locate();
}

void link::locate() {
  state_ = state::locating;
  at(clock::now() + connect_patience, &link::greeting_late);
  owner_->locate(*this);
}

void link::connect_to(const wire_target& target) {
  if (state_ != state::locating) return;
  state_ = state::connecting;
  target_ = target;
  wire_ = wire::open(context_, *this, target);
}

void link::not_located(std::string_view why) {
  if (state_ == state::locating) lose(why);
}

void link::opened() {
  state_ = state::greeting;
  greet();
}

// Everything that a new connection needs in one round trip.
void link::greet() {
  greetings_ = 0;
  reader_.reset();
  const credentials& login = settings_.login;
  if (!login.password.empty()) {
    if (login.user.empty()) {
      command(asked::auth, {"AUTH", login.password});
    } else {
      command(asked::auth, {"AUTH", login.user, login.password});
    }
  }
  if (settings_.database != 0) {
    command(asked::select, {"SELECT", std::to_string(settings_.database)});
  }
  if (settings_.verify_master) command(asked::role, {"ROLE"});
  command(asked::info_server, {"INFO", "server"});
  command(asked::info_memory, {"INFO", "memory"});
  // So that the first refund does not come after the check behind it. Others are loaded when used.
  for (const script* s : preloaded_scripts())
    command(asked::script_load, {"SCRIPT", "LOAD", s->text});
  greetings_ = pending_.size();
}

void link::greeting_late() {
  lose(state_ == state::greeting ? "no answer to the login" : "cannot connect: no answer");
}

void link::command(asked what, std::initializer_list<std::string_view> words) {
  std::string& out = wire_->out();
  resp::append_array(out, words.size());
  for (const std::string_view w : words) resp::append_bulk(out, w);
  pending_.push({.what = what, .at = clock::now()});
  wire_->flush_soon();
}

void link::handle_greeting(asked what, std::span<const resp::node> answer) {
  const bool error = is_error(answer);
  const bool needed = what == asked::auth || what == asked::select || what == asked::role;
  if (error) {
    const error_kind kind = classify_error(answer.front().text);
    // Rights for INFO are a courtesy; not being logged in, or a node that is not serving, is not.
    const bool no_rights = kind == error_kind::refused && answer.front().text.starts_with("NOPERM");
    if (needed || (!no_rights && kind != error_kind::other)) {
      lose(answer.front().text.substr(0, 120));
      return;
    }
  } else if (what == asked::role) {
    const bool master = answer.size() > 1 && answer[1].text == "master";
    if (!master) {
      lose("the node is not a master");
      return;
    }
  } else if (what == asked::info_server || what == asked::info_memory) {
    read_info(answer.front().text, what == asked::info_memory);
  }
  if (--greetings_ == 0) greeted();
}

void link::read_info(std::string_view text, bool memory) {
  if (!memory) {
    const std::string_view id = line_of(text, "run_id:");
    const bool another = !run_id_.empty() && !id.empty() && run_id_ != id;
    if (!id.empty()) run_id_ = id;
    if (another) {
      ++losses_of_data;
      owner_->remarked(*this,
                       "restarted, or another server than before: what was counted may be lost");
    }
    return;
  }
  read_memory(text);
  const std::string_view policy = line_of(text, "maxmemory_policy:");
  const std::string_view most = line_of(text, "maxmemory:");
  if (!most.empty() && most != "0" && policy.starts_with("allkeys")) {
    owner_->remarked(*this,
                     "maxmemory_policy may drop counters of live keys; noeviction or "
                     "volatile-ttl is what limits need");
  } else if (!most.empty() && most != "0" && policy.starts_with("volatile") &&
             policy != "volatile-ttl") {
    owner_->remarked(*this,
                     "maxmemory_policy may drop counters that still count; noeviction or "
                     "volatile-ttl is what limits need");
  }
}

// An ACL may forbid INFO: then nothing is known.
void link::read_memory(std::string_view text) {
  const std::string_view used = line_of(text, "used_memory:");
  std::from_chars(used.data(), used.data() + used.size(), memory_used);
}

void link::greeted() {
  state_ = state::ready;
  replacing_ = false;
  const auto now = clock::now();
  ready_since_ = now;
  ++timer_generation_;
  owner_->connected(*this);
  if (state_ != state::ready) return;
  if (!breaker_.closed()) {
    probe();
    return;
  }
  tell_serving();
  while (state_ == state::ready && !unsent_.empty()) {
    const entry e = unsent_.front();
    unsent_.pop();
    if (e.of->generation == e.generation) write(*e.of, now);
  }
}

bool link::takes_calls() const noexcept {
  if (!breaker_.closed() || state_ == state::closed) return false;
  if (pending_.size() + unsent_.size() >= in_flight_max) return false;
  return wire_ == nullptr || wire_->backlog() < backlog_max;
}

void link::send(call& c, clock::time_point now) {
  if (state_ == state::ready && !replacing_) {
    write(c, now);
  } else {
    unsent_.push({.what = asked::call, .of = &c, .generation = c.generation, .at = now});
  }
}

void link::write(call& c, clock::time_point now) {
  std::string& out = wire_->out();
  if (c.asking) {
    out += "*1\r\n$6\r\nASKING\r\n";
    pending_.push({.what = asked::ignored, .at = now});
  }
  if (c.what != nullptr) {
    resp::append_array(out, c.words + 2);
    resp::append_bulk(out, std::string_view(c.by_text ? "EVAL" : "EVALSHA"));
    resp::append_bulk(out, std::string_view(c.by_text ? c.what->text : c.what->sha1));
  }
  out += c.tail;
  pending_.push({.what = asked::call, .of = &c, .generation = c.generation, .at = now});
  wire_->flush_soon();
}

void link::ask_memory() {
  if (state_ == state::ready) command(asked::memory, {"INFO", "memory"});
}

void link::ask_topology(bool shards) {
  if (state_ != state::ready) return;
  command(shards ? asked::shards : asked::slots, {"CLUSTER", shards ? "SHARDS" : "SLOTS"});
}

std::size_t link::received(std::string_view octets) {
  // The connection may end in here, and with it everything but the octets.
  const auto keep = shared_from_this();
  const auto connection = wire_;
  std::size_t used = 0;
  while (used < octets.size() && connection == wire_) {
    const resp::read_status status = reader_.read(octets.substr(used));
    if (status == resp::read_status::need_more) break;
    if (status == resp::read_status::bad || pending_.empty()) {
      lose(status == resp::read_status::bad ? reader_.problem() : "an answer to no command");
      break;
    }
    const entry e = pending_.front();
    pending_.pop();
    handle(e, reader_.nodes());
    if (connection != wire_) break;
    used += reader_.consumed();
    reader_.reset();
  }
  if (replacing_ && connection == wire_ && pending_.empty()) lose(why_);
  return used;
}

void link::handle(const entry& e, std::span<const resp::node> answer) {
  switch (e.what) {
    case asked::call:
      if (e.of->generation == e.generation) owner_->answered(*this, *e.of, answer);
      return;
    case asked::ignored:
      return;
    case asked::probe:
      probed(answer);
      return;
    case asked::shards:
    case asked::slots:
      owner_->topology_answered(*this, answer, e.what == asked::shards);
      return;
    case asked::memory:
      read_memory(answer.front().text);
      return;
    default:
      handle_greeting(e.what, answer);
      return;
  }
}

void link::closed(std::string_view why) {
  lose(why);
}

// Ends the connection, if there is one, and decides when the next one is tried.
void link::lose(std::string_view why) {
  if (state_ == state::closed) return;
  const auto keep = shared_from_this();
  const auto now = clock::now();
  const bool was_good =
      state_ == state::ready && breaker_.closed() && now - ready_since_ >= stable_after;
  ++timer_generation_;
  if (wire_ != nullptr) wire_->drop();
  wire_.reset();
  replacing_ = false;
  state_ = state::waiting;
  why_ = why;
  ring<entry> written;
  std::swap(written, pending_);
  if (was_good) {
    // One loss is one failure, whatever was under way. The next connection is tried at once.
    if (!written.empty() && breaker_.failed(now, owner_->random())) {
      tell_not_serving(why_);
    }
  } else if (breaker_.closed()) {
    trip(why_);
  } else {
    breaker_.probe_failed(now, owner_->random());
  }
  for (; !written.empty(); written.pop()) {
    const entry& e = written.front();
    if (e.what == asked::call && e.of->generation == e.generation) owner_->lost(*this, *e.of);
  }
  if (state_ != state::waiting) return;
  if (breaker_.closed()) {
    locate();
  } else {
    fail_waiting();
    rest();
  }
}

void link::trip(std::string_view why) {
  if (breaker_.trip(clock::now(), owner_->random())) tell_not_serving(why);
}

void link::tell_serving() {
  if (told_ == told::serving) return;
  told_ = told::serving;
  owner_->serving(*this);
}

void link::tell_not_serving(std::string_view why) {
  if (told_ == told::not_serving) return;
  told_ = told::not_serving;
  owner_->not_serving(*this, why);
}

void link::fail_waiting() {
  for (std::size_t n = unsent_.size(); n > 0 && !unsent_.empty(); --n) {
    const entry e = unsent_.front();
    unsent_.pop();
    if (e.of->generation == e.generation) owner_->lost(*this, *e.of);
  }
}

// The breaker is open: the next probe, on this connection or on a new one.
void link::rest() {
  at(breaker_.next_probe(), state_ == state::ready ? &link::probe : &link::locate);
}

void link::failed(clock::time_point now, std::string_view why) {
  if (!breaker_.failed(now, owner_->random())) return;
  why_ = why;
  tell_not_serving(why_);
  fail_waiting();
  if (state_ == state::ready || state_ == state::waiting) rest();
}

void link::probe() {
  command(asked::probe, {"EVAL", probe_script, "1", settings_.probe_key});
  at(clock::now() + probe_patience, &link::probe_late);
}

void link::probe_late() {
  lose("no answer to a probe");
}

void link::probed(std::span<const resp::node> answer) {
  const auto now = clock::now();
  if (is_error(answer)) {
    const error_kind kind = classify_error(answer.front().text);
    if (kind == error_kind::not_master || kind == error_kind::refused) {
      lose(answer.front().text.substr(0, 120));
      return;
    }
    if (kind != error_kind::moved && kind != error_kind::ask) {
      breaker_.probe_failed(now, owner_->random());
      rest();
      return;
    }
    // A slot that moved away does not make the node a bad one.
  }
  if (breaker_.probe_succeeded(now)) {
    ++timer_generation_;
    tell_serving();
  } else {
    rest();
  }
}

void link::replace(std::string_view why) {
  if (state_ != state::ready || replacing_) return;
  replacing_ = true;
  why_ = why;
  // Ends in received() once the last answer is there, or here when none is awaited.
}

void link::check_stale(clock::time_point now) {
  if (state_ == state::ready && !pending_.empty() && now - pending_.front().at >= silence_max) {
    lose("no answer");
  }
}

}  // namespace penstock::store::redis
