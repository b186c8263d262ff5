// The draft as text: block style, one remark a comment, so that a person can go on from there.
#include <algorithm>
#include <array>

#include "base/sha256.hpp"
#include "import/draft.hpp"
#include "import/nginx_values.hpp"
#include "import/quota_of.hpp"

namespace penstock::import {
namespace {

constexpr std::size_t width = 98;
constexpr std::int64_t usual_octets = 64LL << 20;

// Everything that is written between quotes here is ASCII without quotes and backslashes.
std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

template <class List, class Text>
std::string listed(const List& list, Text text) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ", ") + text(one);
  return "[" + out + "]";
}

std::string hex(const sha256_digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto octet : digest) out += {digits[octet >> 4U], digits[octet & 15U]};
  return out;
}

class writer {
 public:
  explicit writer(const policy_draft& draft) : draft_(draft) {}

  imported_policy run(const std::string& file) {
    write_responses();
    write_client();
    write_face();
    write_store();
    write_exempt();
    write_limits();
    write_left_out();
    out_.limits = draft_.limits.size();
    out_.text = head(file) + out_.text;
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.text += text + "\n"; }

  // Wrapped; further lines are indented by `hang` more.
  void comment(const std::string& indent, const std::string& text, std::size_t hang = 2) {
    std::string rest = text.substr(text.find_first_not_of(' '));
    const std::string spaces(text.size() - rest.size(), ' ');
    std::string start = indent + "# " + spaces;
    while (start.size() + rest.size() > width) {
      const auto cut = rest.rfind(' ', width - start.size());
      if (cut == std::string::npos || cut == 0) break;
      line(start + rest.substr(0, cut));
      rest.erase(0, cut + 1);
      start = indent + "# " + spaces + std::string(hang, ' ');
    }
    line(start + rest);
  }

  void differs(const std::string& indent, const std::string& why) {
    comment(indent, "differs: " + why);
    ++out_.differs;
  }

  void remarks(const std::vector<remark>& list) {
    for (const auto& r : list) {
      comment("", r.at.text() + ": " + r.text);
      differs("", r.why);
    }
  }

  [[nodiscard]] std::string head(const std::string& file) const {
    const auto count = [](std::size_t n, const char* what) {
      return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
    };
    writer text(draft_);
    text.comment(
        "",
        "Made from " + file + " by `penstock import nginx`: " + count(out_.limits, "limit") + ", " +
            count(out_.differs, "difference") + ", " + count(out_.left_out, "line") + " left out.",
        0);
    text.line("#");
    text.comment("",
                 "Each limit names the line it comes from. \"differs\" says where it is not "
                 "exactly what nginx "
                 "does; what has no counterpart stands at the end.",
                 0);
    text.comment(
        "",
        "Of all limits: nginx counts in whole milliseconds and thousandths of a request, Penstock "
        "exactly, "
        "so a moment may differ by 2 ms. Paths are compared in one canonical form: /login is also "
        "/login/ and //login. A header, argument or cookie that is counted by and stands in a "
        "request "
        "twice is answered with 400.",
        0);
    text.line("version: 1");
    return text.out_.text;
  }

  [[nodiscard]] bool one_status() const {
    return std::all_of(draft_.limits.begin(), draft_.limits.end(), [&](const limit_draft& l) {
      return l.status == draft_.limits.front().status;
    });
  }

  void write_responses() {
    if (draft_.limits.empty() || !one_status() || draft_.limits.front().status == 429) return;
    line("");
    if (draft_.limits.front().status == 503)
      comment("", "nginx's default status; 429 is the one that clients know as a rate limit.");
    line("responses: { status: " + std::to_string(draft_.limits.front().status) + " }");
  }

  void write_client() {
    line("");
    remarks(draft_.client_remarks);
    line("client:");
    if (!draft_.trusted.empty()) {
      line("  trusted_proxies: " + listed(draft_.trusted, quoted));
      line("  address_from: " + draft_.address_from);
    }
    line("  ipv6_prefix: 128  # as nginx; 64 counts a customer's network as one client");
  }

  void write_face() {
    line("");
    if (draft_.face_for == face::decision) {
      comment("",
              "nginx keeps serving and asks here (auth_request); replace its limit_req lines by "
              "the check.");
      line("decision: { http: \"127.0.0.1:8081\" }");
      return;
    }
    remarks(draft_.gateway_remarks);
    if (!draft_.listens.empty()) {
      std::string all;
      for (const auto& l : draft_.listens) all += (all.empty() ? "" : ", ") + l;
      comment("", "nginx listens on " + shown(all) + ". TLS is said in gateway.tls.");
    }
    line("gateway:");
    line("  listen: \"127.0.0.1:8080\"");
    line("  upstream: " + listed(draft_.upstreams, quoted));
  }

  void write_store() {
    if (draft_.zone_octets <= usual_octets) return;
    line("");
    comment("", "nginx's zones together.");
    line("store: { memory: { max_bytes: " +
         std::to_string((draft_.zone_octets + (1 << 20) - 1) >> 20) + "MiB } }");
  }

  void write_exempt() {
    if (draft_.exempt_addresses.empty() && draft_.exempt_headers.empty()) return;
    line("");
    comment("", "Requests for which nginx's key is empty.");
    line("exempt:");
    if (!draft_.exempt_addresses.empty())
      line("  - address: " + listed(draft_.exempt_addresses, quoted));
    for (const auto& [name, value] : draft_.exempt_headers)
      line("  - header: { name: " + quoted(name) + ", sha256: " + hex(sha256(value)) + " }");
  }

  void write_limits() {
    line("");
    if (draft_.limits.empty()) {
      comment("", "No limit_req that could be carried over: everything passes.");
      return;
    }
    line("limits:");
    for (const auto& l : draft_.limits) write_limit(l);
  }

  void write_limit(const limit_draft& l) {
    comment("  ", l.use->at.text() + ": " + l.use->text);
    comment("  ", l.from->at.text() + ": " + shown(l.from->key) + " rate=" +
                      std::to_string(l.from->count) + (l.from->per_minute ? "r/m" : "r/s"));
    std::vector<std::string> said;
    for (const auto& why : l.differs) {
      if (std::find(said.begin(), said.end(), why) != said.end()) continue;
      said.push_back(why);
      differs("  ", why);
    }
    line("  - name: " + quoted(l.name));
    if (const auto match = match_of(l); !match.empty()) line("    match: { " + match + " }");
    line("    key: " + l.key->expression);
    if (!l.on_missing_key.empty()) line("    on_missing_key: " + l.on_missing_key);
    write_quota(quota_of(*l.from, *l.use), l);
    if (l.dry_run) line("    mode: shadow  # limit_req_dry_run");
    if (!one_status()) line("    response: { status: " + std::to_string(l.status) + " }");
  }

  static std::string match_of(const limit_draft& l) {
    std::string out;
    const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
    const auto text_of = [](const path_shape& s) { return quoted(s.text()); };
    if (!l.key->methods.empty()) add("method: " + listed(l.key->methods, quoted));
    if (!l.hosts.empty()) add("host: " + listed(l.hosts, quoted));
    if (!l.where.everything()) add("path: " + quoted(l.where.text()));
    if (!l.except.empty()) add("except: " + listed(l.except, text_of));
    return out;
  }

  void write_quota(const quota& q, const limit_draft& l) {
    const bool queue = q.kind == algorithm::leaky_bucket;
    line(std::string("    algorithm: ") + std::string(to_string(q.kind)));
    line("    rate: " + std::to_string(q.count) + (l.from->per_minute ? "/min" : "/s"));
    if (!queue) {
      const auto burst = q.burst.value_or(1);
      line("    burst: " + std::to_string(burst) +
           (burst == 1 ? "  # no burst: strict spacing"
                       : "  # nginx admits its burst and the request that is due: " +
                             std::to_string(l.use->burst) + " + 1"));
      return;
    }
    line("    queue: " + std::to_string(q.queue) + "  # without nodelay a burst waits its turn");
    if (q.undelayed > 0) line("    undelayed: " + std::to_string(q.undelayed));
  }

  void write_left_out() {
    auto list = draft_.left_out;
    if (list.empty()) return;
    line("");
    line("# Left out:");
    for (const auto& r : list) {
      comment("", "  " + r.at.text() + ": " + r.text);
      comment("", "    " + r.why);
      ++out_.left_out;
    }
  }

  const policy_draft& draft_;
  imported_policy out_;
};

}  // namespace

imported_policy write_policy(const std::string& file, const policy_draft& draft) {
  return writer(draft).run(file);
}

}  // namespace penstock::import
