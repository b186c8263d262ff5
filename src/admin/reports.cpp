#include "admin/reports.hpp"

#include "net/json_writer.hpp"

namespace penstock::admin {
namespace {

using net::json_writer;
using telemetry::tally;

std::int64_t ms(instant t) {
  return std::chrono::floor<std::chrono::milliseconds>(t.time_since_epoch()).count();
}
std::int64_t ms(duration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

// Every answer is one object and ends its line, for people with curl.
template <class Fill>
std::string object(Fill fill) {
  std::string out;
  json_writer w(out);
  w.begin_object();
  fill(w);
  w.end_object();
  out += '\n';
  return out;
}

template <class Rows, class Write>
std::string list(std::string_view name, const Rows& rows, Write write) {
  return object([&](json_writer& w) {
    w.key(name).begin_array();
    for (const auto& row : rows) {
      w.begin_object();
      write(w, row);
      w.end_object();
    }
    w.end_array();
  });
}

void write_override(json_writer& w, const override_info& o) {
  w.member("limit", o.limit).member("quota", o.quota).member("expires_at_ms", ms(o.expires_at));
}

void write_ban(json_writer& w, const ban_info& b) {
  w.member("limit", b.limit).member("key", b.key).member("until_ms", ms(b.until));
  w.member("reason", b.reason).member("by_limit", b.by_limit);
}

void write_durations(json_writer& w, std::string_view name, const telemetry::histogram_sum& h) {
  w.key(name).begin_object().member("count", h.count());
  w.member("p50_ns", h.quantile(500).count()).member("p99_ns", h.quantile(990).count());
  w.end_object();
}

struct sums {
  std::uint64_t admitted = 0, refused = 0, shadow = 0, reported = 0;
};

sums sums_of(const telemetry::totals& t, std::string_view name) {
  sums out;
  for (const auto& l : t.limits) {
    if (l.label.name != name) continue;
    out.admitted += l.admitted;
    out.refused += l.refused;
    out.shadow += l.shadow_refused;
    out.reported += l.decided[static_cast<std::size_t>(telemetry::outcome::deny)] +
                    l.decided[static_cast<std::size_t>(telemetry::outcome::degraded_deny)];
  }
  return out;
}

}  // namespace

std::string status_json(const process_status& s, const readiness& r, const telemetry::totals& t,
                        instant now) {
  return object([&](json_writer& w) {
    w.member("version", s.version).member("now_ms", ms(now));
    w.member("started_at_ms", ms(s.started_at)).member("workers", s.workers);
    w.member("ready", r.ready).key("reasons").begin_array();
    for (const std::string& reason : r.reasons) w.value(reason);
    w.end_array().key("listeners").begin_array();
    for (const listener_info& l : s.listeners) {
      w.begin_object().member("face", l.face).member("address", l.address).end_object();
    }
    w.end_array().key("policy").begin_object();
    w.member("file", s.policy_file).member("generation", s.policy_generation);
    w.member("loaded_at_ms", ms(s.policy_loaded_at)).member("reload_error", s.reload_error);
    w.end_object().key("store").begin_object();
    w.member("kind", s.store).member("up", s.store_up).member("breaker_open", s.breaker_open);
    const std::uint64_t errors = t.of(tally::store_timeouts) + t.of(tally::store_disconnects) +
                                 t.of(tally::store_replies_unusable);
    w.member("errors", errors).member("remembered_refusals", t.of(tally::remembered_refusals));
    write_durations(w, "duration", t.store_duration);
    w.end_object().key("requests").begin_object();
    w.member("allowed", t.of(tally::requests_allowed));
    w.member("delayed", t.of(tally::requests_delayed));
    w.member("refused", t.of(tally::requests_refused));
    w.member("degraded_allowed", t.of(tally::requests_degraded_allowed));
    w.member("degraded_refused", t.of(tally::requests_degraded_refused));
    w.member("exempt", t.of(tally::requests_exempt))
        .member("blocked", t.of(tally::requests_blocked));
    w.member("banned", t.of(tally::requests_banned))
        .member("bad_request", t.of(tally::requests_bad));
    w.end_object();
    write_durations(w, "check", t.check_duration);
    write_durations(w, "upstream", t.upstream_duration);
  });
}

std::string limits_json(const std::vector<limit_info>& limits, const telemetry::totals& counts) {
  return list("limits", limits, [&](json_writer& w, const limit_info& l) {
    w.member("name", l.name).member("key", l.key_type).member("path", l.endpoint);
    w.member("algorithm", l.algorithm).member("quota", l.quota).member("mode", l.mode);
    w.member("on_store_failure", l.on_store_failure);
    const sums s = sums_of(counts, l.name);
    w.member("admitted", s.admitted).member("refused", s.refused);
    w.member("shadow_refused", s.shadow).member("reported_refusals", s.reported);
    w.key("override");
    if (l.overridden) {
      w.begin_object();
      write_override(w, *l.overridden);
      w.end_object();
    } else {
      w.null();
    }
  });
}

std::string offenders_json(const telemetry::named_summary& s, duration covered,
                           std::size_t instances, bool whole) {
  return object([&](json_writer& w) {
    w.member("instances", instances).member("whole", whole);
    w.member("covered_ms", ms(covered)).member("total", s.total);
    w.member("error_max", s.floor).key("top").begin_array();
    for (const telemetry::named_count& k : s.keys) {
      w.begin_object().member("limit", k.limit).member("key", k.key);
      w.member("at_least", k.at_least).member("at_most", k.at_most).end_object();
    }
    w.end_array();
  });
}

std::string refusals_json(const std::vector<telemetry::refusal>& refusals,
                          telemetry::limit_slots& slots) {
  return list("refusals", refusals, [&](json_writer& w, const telemetry::refusal& r) {
    w.member("at_ms", ms(r.at)).member("limit", slots.label(r.limit).name).member("key", r.key);
    w.member("client", r.client).member("method", r.method).member("path", r.path);
    w.member("status", r.status).member("retry_after_ms", ms(r.retry_after));
    w.member("reason", r.reason);
  });
}

std::string events_json(const std::vector<telemetry::event>& events) {
  return list("events", events, [](json_writer& w, const telemetry::event& e) {
    w.member("at_ms", ms(e.at)).member("kind", telemetry::to_string(e.kind));
    w.member("good", e.good).member("text", e.text);
  });
}

std::string history_json(const std::vector<history::sample>& samples) {
  return list("samples", samples, [](json_writer& w, const history::sample& s) {
    w.member("at_ms", ms(s.at)).member("length_ms", ms(s.length));
    w.member("allowed", s.allowed).member("delayed", s.delayed).member("refused", s.refused);
    w.member("degraded", s.degraded).member("other", s.other);
    w.member("store_errors", s.store_errors);
    w.member("check_p50_ns", s.check_p50_ns).member("check_p99_ns", s.check_p99_ns);
  });
}

std::string bans_json(const std::vector<ban_info>& bans) {
  return list("bans", bans, write_ban);
}

std::string overrides_json(const std::vector<override_info>& overrides) {
  return list("overrides", overrides, write_override);
}

std::string keys_json(const std::vector<key_state>& keys) {
  return list("keys", keys, [](json_writer& w, const key_state& k) {
    w.member("limit", k.limit).member("key", k.key).member("quota", k.quota);
    w.member("refusing", k.refusing)
        .member("units", k.limit_units)
        .member("remaining", k.remaining);
    w.member("retry_after_ms", ms(k.retry_after)).member("reset_after_ms", ms(k.reset_after));
    w.key("banned_until_ms");
    if (k.banned_until) {
      w.value(ms(*k.banned_until));
    } else {
      w.null();
    }
  });
}

std::string ban_json(const ban_info& b) {
  return object([&](json_writer& w) { write_ban(w, b); });
}

std::string override_json(const override_info& o) {
  return object([&](json_writer& w) { write_override(w, o); });
}

std::string number_json(std::string_view name, std::uint64_t n) {
  return object([&](json_writer& w) { w.member(name, n); });
}

std::string error_json(std::string_view sentence) {
  return object([&](json_writer& w) { w.member("error", sentence); });
}

}  // namespace penstock::admin
