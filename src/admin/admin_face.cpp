#include "admin/admin_face.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "admin/assets.hpp"
#include "admin/health.hpp"
#include "admin/query.hpp"
#include "admin/reports.hpp"
#include "config/suggest.hpp"
#include "policy/address.hpp"

namespace penstock::admin {
namespace {

using telemetry::tally;

constexpr std::string_view api_fields =
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

// The exchange of an answer that is still due, kept with its connection.
struct due final : net::http_attachment {
  std::shared_ptr<net::http_exchange*> exchange;
};

std::string text_of(const net::peer_address& peer) {
  using kind = net::peer_address::kind;
  if (peer.what == kind::unix_socket) return "unix";
  if (peer.what == kind::v6) return policy::address::v6(peer.octets).to_string();
  return policy::address::v4({peer.octets[0], peer.octets[1], peer.octets[2], peer.octets[3]})
      .to_string();
}

// Failures are counted by address, IPv6 by /64: the rest of it is the client's to choose.
std::array<std::uint8_t, 16> failure_key(const net::peer_address& peer) {
  auto key = peer.octets;
  if (peer.what == net::peer_address::kind::v6) std::fill(key.begin() + 8, key.end(), 0);
  return key;
}

// A number parameter from 1 to `most`; `otherwise` when it is absent; nullopt when it is wrong.
std::optional<std::size_t> number_of(std::string_view query, std::string_view name,
                                     std::size_t otherwise, std::size_t most) {
  const auto text = query_value(query, name);
  if (!text) return otherwise;
  std::size_t n = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), n);
  if (failed != std::errc{} || end != text->data() + text->size() || n < 1) return std::nullopt;
  return std::min(n, most);
}

int status_of(errc code) {
  switch (code) {
    case errc::store_unavailable:
      return 503;
    case errc::io:
      return 500;
    case errc::success:
    case errc::invalid_quota:
    case errc::invalid_argument:
    case errc::invalid_config:
      return 400;
  }
  return 500;
}

}  // namespace

struct admin_face::route {
  std::string_view path;
  std::string_view method;
  void (admin_face::*answer)(net::http_exchange&);
};

const std::vector<admin_face::route>& admin_face::routes() {
  static const std::vector<route> all = {
      {"/api/v1/status", "GET", &admin_face::get_status},
      {"/api/v1/limits", "GET", &admin_face::get_limits},
      {"/api/v1/offenders", "GET", &admin_face::get_offenders},
      {"/api/v1/refusals", "GET", &admin_face::get_refusals},
      {"/api/v1/events", "GET", &admin_face::get_events},
      {"/api/v1/history", "GET", &admin_face::get_history},
      {"/api/v1/bans", "GET", &admin_face::get_bans},
      {"/api/v1/overrides", "GET", &admin_face::get_overrides},
      {"/api/v1/inspect", "GET", &admin_face::get_inspect},
      {"/api/v1/reset", "POST", &admin_face::post_reset},
      {"/api/v1/ban", "POST", &admin_face::post_ban},
      {"/api/v1/unban", "POST", &admin_face::post_unban},
      {"/api/v1/override", "POST", &admin_face::post_override},
      {"/api/v1/lift-override", "POST", &admin_face::post_lift_override},
      {"/api/v1/reload", "POST", &admin_face::post_reload},
  };
  return all;
}

admin_face::admin_face(net::loop& on, operations& does, telemetry::metrics& counts,
                       access_options who, std::function<void(std::string_view)> audit)
    : loop_(on),
      does_(does),
      counts_(counts),
      access_(std::move(who)),
      audit_(std::move(audit)),
      step_(&admin_face::on_step, this) {
  step();
}

admin_face::~admin_face() {
  loop_.disarm(step_);
}

void admin_face::on_step(net::timer_wheel::entry& e) {
  static_cast<admin_face*>(e.owner)->step();
}

void admin_face::step() {
  const instant now = loop_.now();
  counts_.collect(now);
  history_.add(counts_.sum(), now);
  loop_.arm(step_,
            net::loop::coarse_now() +
                std::chrono::duration_cast<std::chrono::milliseconds>(history::step).count());
}

// --- the way in

void admin_face::handle(net::http_exchange& x) {
  const auto& head = x.head();
  const std::string_view path = head.path;
  // Probes need no token; the figures and everything else do.
  if (path != "/metrics" && answer_health(x, path, does_, counts_)) return;
  const asset* const page = find_asset(path);
  if (page != nullptr) {
    // The page itself holds no secret; what it asks for needs the token.
    if (head.method == "GET" || head.method == "HEAD") {
      x.answer(200, page->content_type, page->content, asset_fields);
    } else {
      net::answer_method_not_allowed(x, "GET, HEAD");
    }
    return;
  }
  const access_request who{.method = head.method,
                           .authority = head.authority,
                           .fields = head.fields,
                           .local = x.peer().is_local(),
                           .peer = failure_key(x.peer())};
  if (const auto refusal = access_.judge(who, net::loop::coarse_now())) {
    counts_.add(refusal->counted);
    refuse(x, refusal->status, refusal->reason,
           refusal->status == 401   ? "WWW-Authenticate: Bearer\r\n"
           : refusal->status == 429 ? "Retry-After: 60\r\n"
                                    : "");
    return;
  }
  if (path == "/metrics") {
    answer_health(x, path, does_, counts_);
  } else {
    api(x, path);
  }
}

void admin_face::api(net::http_exchange& x, std::string_view path) {
  const auto found = std::ranges::find(routes(), path, &route::path);
  if (found == routes().end()) {
    refuse(x, 404, "there is nothing at this path");
    return;
  }
  const std::string_view method = x.head().method == "HEAD" ? "GET" : x.head().method;
  if (method != found->method) {
    std::string allow("Allow: ");
    allow.append(found->method).append(found->method == "GET" ? ", HEAD\r\n" : "\r\n");
    refuse(x, 405, "this path takes " + std::string(found->method), allow);
    return;
  }
  (this->*found->answer)(x);
}

void admin_face::answer(net::http_exchange& x, std::string_view json) {
  x.answer(200, "application/json", json, api_fields);
}

void admin_face::refuse(net::http_exchange& x, int status, std::string_view sentence,
                        std::string_view fields) {
  std::string all(api_fields);
  all += fields;
  x.answer(status, "application/json", error_json(sentence), all);
}

// --- answers that come later

admin_face::waiting admin_face::wait_for(net::http_exchange& x) {
  if (!x.attachment) x.attachment = std::make_unique<due>();
  auto exchange = std::make_shared<net::http_exchange*>(&x);
  static_cast<due&>(*x.attachment).exchange = exchange;
  return exchange;
}

void admin_face::abandoned(net::http_exchange& x) {
  if (!x.attachment) return;
  auto& exchange = static_cast<due&>(*x.attachment).exchange;
  if (exchange) *exchange = nullptr;
}

template <class T, class Write>
done<T> admin_face::answer_with(net::http_exchange& x, Write write) {
  return [this, exchange = wait_for(x), write](result<T> r) {
    net::http_exchange* const still = std::exchange(*exchange, nullptr);
    if (still == nullptr) return;  // the client left
    if (r) {
      answer(*still, write(*r));
    } else {
      refuse(*still, status_of(r.error().code), r.error().message);
    }
  };
}

template <class T, class Write>
done<T> admin_face::change_with(net::http_exchange& x, std::string_view action, tally counted,
                                change what, Write write) {
  // Written down also when the client left meanwhile: the change was made.
  return [this, action, counted, peer = text_of(x.peer()), what = std::move(what),
          then = answer_with<T>(x, write)](result<T> r) {
    changed(action, counted, peer, what, r ? std::string_view{} : r.error().message);
    then(std::move(r));
  };
}

void admin_face::changed(std::string_view action, tally counted, std::string_view peer,
                         const change& what, std::string_view error) {
  const instant now = loop_.now();
  audit_(audit_line({.at = now, .action = action, .peer = peer, .what = &what, .error = error}));
  if (error.empty()) {
    counts_.add(counted);
    if (counted == tally::admin_ban) counts_.add(tally::bans_by_operator);
  }
  std::string text(action);
  for (const std::string* const part : {&what.limit, &what.key, &what.quota}) {
    if (!part->empty()) text.append(" ").append(*part);
  }
  text.append(" by ").append(peer);
  if (!error.empty()) text.append(": ").append(error);
  counts_.events().add({.at = now,
                        .kind = telemetry::event_kind::change,
                        .good = error.empty(),
                        .text = std::move(text)});
}

std::string admin_face::unknown_limit(const std::string& name) {
  if (name.empty()) return {};
  const auto limits = does_.limits();
  std::vector<std::string_view> names;
  for (const limit_info& l : limits) names.emplace_back(l.name);
  if (std::ranges::find(names, name) != names.end()) return {};
  std::string sentence = "there is no limit named \"" + name + "\"";
  if (const auto near = config::nearest(name, names); !near.empty()) {
    sentence.append("; did you mean \"").append(near).append("\"?");
  }
  return sentence;
}

bool admin_face::refuse_unknown_limit(net::http_exchange& x, std::string_view action, tally counted,
                                      const change& what) {
  const std::string sentence = unknown_limit(what.limit);
  if (sentence.empty()) return false;
  changed(action, counted, text_of(x.peer()), what, sentence);
  refuse(x, 404, sentence);
  return true;
}

// --- reading

void admin_face::get_status(net::http_exchange& x) {
  answer(x, status_json(does_.status(), does_.ready(), counts_.sum(), loop_.now()));
}

void admin_face::get_limits(net::http_exchange& x) {
  answer(x, limits_json(does_.limits(), counts_.sum()));
}

void admin_face::get_offenders(net::http_exchange& x) {
  using telemetry::ranking;
  using telemetry::window;
  const std::string_view query = x.head().query;
  const std::string by = query_value(query, "by").value_or("refusals");
  const std::string over = query_value(query, "window").value_or("1m");
  const auto n = number_of(query, "n", 20, 100);
  if (by != "refusals" && by != "requests") {
    return refuse(x, 400, "by is refusals or requests");
  }
  if (over != "1m" && over != "10m" && over != "1h") {
    return refuse(x, 400, "window is 1m, 10m or 1h");
  }
  if (!n) return refuse(x, 400, "n is a number from 1 to 100");
  const auto r = by == "refusals" ? ranking::refusals : ranking::requests;
  const auto w = over == "1m" ? window::minute : over == "10m" ? window::ten_minutes : window::hour;
  does_.others_offenders(answer_with<other_offenders>(x, [this, r, w, n = *n](const auto& others) {
    const auto own = counts_.top(r, w, SIZE_MAX, loop_.now());
    std::vector<telemetry::named_summary> all = {telemetry::named(own, counts_.limits())};
    for (const auto& of : others.processes) {
      all.push_back(of[static_cast<std::size_t>(r)][static_cast<std::size_t>(w)]);
    }
    return offenders_json(telemetry::merged(all, n), own.covered, all.size(), others.whole);
  }));
}

void admin_face::get_refusals(net::http_exchange& x) {
  const auto n = number_of(x.head().query, "n", 50, 1000);
  if (!n) return refuse(x, 400, "n is a number from 1 to 1000");
  const auto asked = [&](std::string_view name) {
    return query_value(x.head().query, name).value_or("");
  };
  const std::string limit = asked("limit"), key = asked("key"), client = asked("client");
  if (const auto sentence = unknown_limit(limit); !sentence.empty()) {
    return refuse(x, 404, sentence);
  }
  auto found = counts_.refusals(SIZE_MAX);
  std::erase_if(found, [&](const telemetry::refusal& r) {
    return (!limit.empty() && counts_.limits().label(r.limit).name != limit) ||
           (!key.empty() && r.key != key) || (!client.empty() && r.client != client);
  });
  found.resize(std::min(found.size(), *n));
  answer(x, refusals_json(found, counts_.limits()));
}

void admin_face::get_events(net::http_exchange& x) {
  answer(x, events_json(counts_.events().latest()));
}

void admin_face::get_history(net::http_exchange& x) {
  answer(x, history_json(history_.samples()));
}

void admin_face::get_bans(net::http_exchange& x) {
  answer(x, bans_json(does_.bans()));
}

void admin_face::get_overrides(net::http_exchange& x) {
  answer(x, overrides_json(does_.overrides()));
}

void admin_face::get_inspect(net::http_exchange& x) {
  const key_reference what{.limit = query_value(x.head().query, "limit").value_or(""),
                           .key = query_value(x.head().query, "key").value_or("")};
  if (what.key.empty()) {
    return refuse(x, 400, "name a key, as offenders show it: ?key=address:203.0.113.9");
  }
  if (const auto sentence = unknown_limit(what.limit); !sentence.empty()) {
    return refuse(x, 404, sentence);
  }
  does_.inspect(what, answer_with<std::vector<key_state>>(x, keys_json));
}

// --- changing

void admin_face::post_reset(net::http_exchange& x) {
  constexpr std::string_view required[] = {"key"}, optional[] = {"limit"};
  const auto c = read_change(x.body(), required, optional);
  if (!c) return refuse(x, 400, c.error().message);
  if (refuse_unknown_limit(x, "reset", tally::admin_reset, *c)) return;
  does_.reset({c->limit, c->key},
              change_with<std::size_t>(x, "reset", tally::admin_reset, *c,
                                       [](std::size_t n) { return number_json("reset", n); }));
}

void admin_face::post_ban(net::http_exchange& x) {
  constexpr std::string_view required[] = {"key", "for"}, optional[] = {"limit", "reason"};
  const auto c = read_change(x.body(), required, optional);
  if (!c) return refuse(x, 400, c.error().message);
  if (refuse_unknown_limit(x, "ban", tally::admin_ban, *c)) return;
  does_.ban({c->limit, c->key}, *c->lasts, c->reason,
            change_with<ban_info>(x, "ban", tally::admin_ban, *c, ban_json));
}

void admin_face::post_unban(net::http_exchange& x) {
  constexpr std::string_view required[] = {"key"}, optional[] = {"limit"};
  const auto c = read_change(x.body(), required, optional);
  if (!c) return refuse(x, 400, c.error().message);
  if (refuse_unknown_limit(x, "unban", tally::admin_unban, *c)) return;
  does_.unban({c->limit, c->key},
              change_with<std::size_t>(x, "unban", tally::admin_unban, *c,
                                       [](std::size_t n) { return number_json("unbanned", n); }));
}

void admin_face::post_override(net::http_exchange& x) {
  constexpr std::string_view required[] = {"limit", "quota", "for"};
  const auto c = read_change(x.body(), required, {});
  if (!c) return refuse(x, 400, c.error().message);
  if (refuse_unknown_limit(x, "override", tally::admin_override, *c)) return;
  does_.override_limit(
      c->limit, c->quota, *c->lasts,
      change_with<override_info>(x, "override", tally::admin_override, *c, override_json));
}

void admin_face::post_lift_override(net::http_exchange& x) {
  constexpr std::string_view required[] = {"limit"};
  const auto c = read_change(x.body(), required, {});
  if (!c) return refuse(x, 400, c.error().message);
  if (refuse_unknown_limit(x, "lift-override", tally::admin_override, *c)) return;
  does_.lift_override(
      c->limit, change_with<std::size_t>(x, "lift-override", tally::admin_override, *c,
                                         [](std::size_t n) { return number_json("lifted", n); }));
}

void admin_face::post_reload(net::http_exchange& x) {
  does_.reload(change_with<std::uint64_t>(
      x, "reload", tally::admin_reload, {},
      [](std::uint64_t generation) { return number_json("generation", generation); }));
}

}  // namespace penstock::admin
