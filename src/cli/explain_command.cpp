#include "cli/explain_command.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/settings_source.hpp"
#include "policy/address_set.hpp"
#include "policy/identity.hpp"
#include "quota/names.hpp"
#include "service/service.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::cli {
namespace {

void line(const char* step, const std::string& text) {
  std::printf("%-10s %s\n", step, text.c_str());
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string seconds_text(duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(d.count()) / 1e6);
  return text;
}

std::string source_text(policy::address_source s) {
  switch (s) {
    case policy::address_source::x_forwarded_for:
      return "X-Forwarded-For";
    case policy::address_source::forwarded:
      return "Forwarded";
    case policy::address_source::x_real_ip:
      return "X-Real-IP";
    case policy::address_source::proxy_protocol:
      return "the PROXY protocol";
    case policy::address_source::peer:
      break;
  }
  return "the connection";
}

void explain_address(const policy::policy_spec& spec, const policy::plan& plan,
                     const policy::address& peer) {
  const auto client = plan.client.to_string();
  if (!plan.from_trusted_peer) {
    line("client", client +
                       ": the peer itself; it is not in client.trusted_proxies, so what it says of "
                       "others is not believed");
  } else if (plan.client == peer) {
    line("client", client + ": the peer, a trusted proxy that names no readable client in " +
                       source_text(spec.client.address_from));
  } else {
    line("client", client + ": the first address in " + source_text(spec.client.address_from) +
                       ", read from the right, that is no trusted proxy");
  }
}

void explain_identity(const settings& s, const policy::request_view& request,
                      const policy::plan& plan, const policy::side_tables& tables) {
  const auto reader =
      policy::identity_reader::create(s.value.policy.identity, tables.known_keys_sha256);
  if (!reader) return;  // the policy compiled, so its identity does
  std::string scratch;
  const auto who = reader->read(request.fields, request.query, plan.from_trusted_peer, scratch);
  std::string text = "API key: ";
  if (!s.value.policy.identity.api_key) {
    text += "not configured";
  } else if (who.api_key) {
    std::string hex;
    append_hex(hex, *who.api_key);
    text += "sha256 " + hex.substr(0, 12) + "...";
  } else {
    text += s.value.policy.identity.api_key->known.empty() ? "none" : "none, or not a known one";
  }
  text += "; user: ";
  if (s.value.policy.identity.user_header.empty()) {
    text += "not configured";
  } else if (!who.user.empty()) {
    text += quoted(who.user);
  } else {
    text += plan.from_trusted_peer ? "none" : "none (believed only from a trusted peer)";
  }
  line("identity", text);
}

// Why a limit has no charge.
std::string why_not(const policy::limit_spec& limit, std::size_t index,
                    const policy::request_view& request, const policy::plan& plan) {
  if (limit.mode == policy::limit_mode::off) return "off";
  const auto& matched = plan.work.matched;
  if (std::ranges::find(matched, static_cast<std::uint32_t>(index)) == matched.end()) {
    return "no match: path or host";
  }
  if (!limit.match.methods.empty() &&
      std::ranges::find(limit.match.methods, request.method) == limit.match.methods.end()) {
    return "no match: method";
  }
  if (!limit.match.except.empty()) {
    return "counts nothing: the path is one of match.except, or the request lacks " +
           limit.key.text;
  }
  return "matches, but counts nothing: the request lacks " + limit.key.text +
         ", or its plan is unlimited";
}

void explain_limits(const settings& s, const service::exchange_context& x) {
  const auto& limits = s.value.policy.limits;
  for (std::size_t index = 0; index < limits.size(); ++index) {
    const auto& limit = limits[index];
    bool charged = false;
    for (std::size_t i = 0; i < x.verdicts.size(); ++i) {
      if (x.plan.limit_of[i] != index) continue;
      charged = true;
      const auto& charge = x.plan.charges[i];
      const auto& v = x.verdicts[i];
      std::string text = limit.name + ": " + quotas::describe(charge.what->quota.source) +
                         ", key " + std::string(charge.key) + ", cost " +
                         std::to_string(charge.cost) + ": ";
      if (v.admitted) {
        text +=
            "admits, " + std::to_string(v.remaining) + " of " + std::to_string(v.limit) + " left";
        if (v.delay > duration{}) text += ", after " + seconds_text(v.delay);
      } else {
        text += v.never ? "refuses, whatever the wait: the cost is above what the limit can hold"
                        : "refuses for " + seconds_text(v.retry_after);
      }
      if (charge.as == role::shadow) text += " (shadow: reported only)";
      if (charge.only_check) text += " (counted only when the response fails)";
      line("limit", text);
    }
    if (!charged) line("limit", limit.name + ": " + why_not(limit, index, x.request, x.plan));
  }
}

std::optional<field> parse_field(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string_view value = std::string_view(text).substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  return field{std::string_view(text).substr(0, colon), value};
}

}  // namespace

int explain_command(const explain_flags& flags) {
  settings_source source({.file = flags.file});
  const auto s = source.load();
  if (!s) return exit_usage;

  const auto peer = policy::address::parse(flags.peer);
  if (!peer) {
    std::fprintf(stderr, "penstock: --peer %s: not an IP address; write it without a port\n",
                 flags.peer.c_str());
    return exit_usage;
  }
  std::vector<field> fields;
  for (const auto& text : flags.fields) {
    const auto one = parse_field(text);
    if (!one) {
      std::fprintf(stderr, "penstock: -H '%s': write 'Name: value'\n", text.c_str());
      return exit_usage;
    }
    fields.push_back(*one);
  }
  if (!flags.path.starts_with('/')) {
    std::fprintf(stderr, "penstock: --path %s: must begin with /\n", flags.path.c_str());
    return exit_usage;
  }

  service::exchange_context x;
  const auto question = flags.path.find('?');
  const std::string_view target = flags.path;
  x.request = {
      .method = flags.method,
      .path = target.substr(0, question),
      .query = question == std::string::npos ? std::string_view{} : target.substr(question + 1),
      .fields = fields,
      .peer = *peer};
  for (const auto& f : fields) {
    if (std::ranges::equal(f.name, std::string_view("host"), {}, [](char c) { return c | 0x20; }))
      x.request.host = f.value;
  }

  const auto memory = store::memory_store::create({});
  if (!memory) return exit_failure;
  service::service decides(**memory, s->policy);
  decides.decide(x, steady_wall_clock{}.now());

  line("request", flags.method + " " + flags.path + " from " + flags.peer);
  explain_address(s->value.policy, x.plan, *peer);
  if (!x.plan.path.empty())
    line("path", x.plan.path + ": matched, counted and forwarded in this form");
  explain_identity(*s, x.request, x.plan, source.tables());
  switch (x.plan.what) {
    case policy::planned::exempt:
      line("exempt", "yes: no limit counts it");
      break;
    case policy::planned::blocked:
      line("blocked", x.plan.reason);
      break;
    case policy::planned::bad_request:
      line("bad", x.plan.reason);
      break;
    case policy::planned::deny:
      line("missing", x.plan.reason);
      break;
    case policy::planned::check:
      line("exempt", "no");
      break;
  }
  if (x.plan.what == policy::planned::check) explain_limits(*s, x);

  const auto& d = x.decision;
  switch (d.what) {
    case policy::outcome::allow:
    case policy::outcome::degraded_allow:
      line("decision", "allow");
      break;
    case policy::outcome::delay:
      line("decision", "allow after " + seconds_text(d.delay));
      break;
    case policy::outcome::deny:
    case policy::outcome::degraded_deny:
      line("decision", "deny with " + std::to_string(d.status));
      break;
  }
  for (std::string_view rest = d.headers; !rest.empty();) {
    const auto end = rest.find("\r\n");
    line("header", std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(rest.size(), end + 2));
  }
  return exit_fine;
}

}  // namespace penstock::cli
