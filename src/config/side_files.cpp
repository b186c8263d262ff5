#include "config/side_files.hpp"

#include <map>
#include <string_view>
#include <utility>

#include "base/sha256.hpp"
#include "config/suggest.hpp"

namespace penstock::config {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Calls `each(number, line)` for every line that says something.
template <class Each>
void for_each_line(std::string_view text, Each each) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (int number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = trim(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    if (!line.empty() && line.front() != '#') each(number, line);
  }
}

// The digest of an API key that is written in clear or as sha256:HEX.
std::optional<std::string> key_digest(std::string_view written) {
  sha256_digest digest;
  if (written.starts_with("sha256:")) {
    const auto parsed = parse_sha256(written.substr(7));
    if (!parsed) return std::nullopt;
    digest = *parsed;
  } else {
    digest = sha256(written);
  }
  std::string hex;
  append_hex(hex, digest);
  return hex;
}

constexpr const char* digest_problem = "sha256: must be followed by 64 hexadecimal digits";

class reader {
 public:
  reader(const policy::policy_spec& spec, std::string folder,
         const std::function<std::optional<std::string>(const std::string&)>& read)
      : spec_(spec), folder_(std::move(folder)), read_(read) {}

  side_files all() {
    if (spec_.identity.api_key && !spec_.identity.api_key->known.empty()) {
      known_keys(spec_.identity.api_key->known);
    }
    std::map<std::string, policy::key_kind> seen;
    for (const auto& limit : spec_.limits) {
      if (!limit.plan || limit.plan->from.empty()) continue;
      const auto [at, fresh] = seen.try_emplace(limit.plan->from, limit.plan->by);
      if (fresh) {
        plans(limit.plan->from, limit.plan->by);
      } else if (at->second != limit.plan->by) {
        problem(limit.plan->from, 0, "is used by api_key in one limit and by user in another",
                "give each its own file");
      }
    }
    for (auto& [who, entry] : plan_of_) {
      out_.tables.plan_of.emplace_back(who, std::move(entry.plan));
    }
    return std::move(out_);
  }

 private:
  struct plan_line {
    std::string plan, file;
    int line = 0;
  };

  std::string path_of(const std::string& name) const {
    return name.starts_with('/') || folder_.empty() ? name : folder_ + "/" + name;
  }

  std::optional<std::string> open(const std::string& name) {
    const auto path = path_of(name);
    out_.files.push_back(path);
    auto text = read_(path);
    if (!text) problem(name, 0, "cannot be read", "the file must exist and be readable");
    return text;
  }

  void problem(const std::string& name, int line, std::string message, std::string hint) {
    out_.issues.push_back({.level = severity::error,
                           .file = path_of(name),
                           .at = {.line = line, .column = line > 0 ? 1 : 0},
                           .message = std::move(message),
                           .hint = std::move(hint)});
  }

  void known_keys(const std::string& name) {
    const auto text = open(name);
    if (!text) return;
    for_each_line(*text, [&](int number, std::string_view line) {
      if (auto digest = key_digest(line)) {
        out_.tables.known_keys_sha256.push_back(std::move(*digest));
      } else {
        problem(name, number, digest_problem, "or write the key itself");
      }
    });
  }

  void plans(const std::string& name, policy::key_kind by) {
    const auto text = open(name);
    if (!text) return;
    for_each_line(*text, [&](int number, std::string_view line) {
      // The plan's name has no comma; a user's may.
      const auto comma = line.rfind(',');
      const auto who = trim(line.substr(0, comma));
      const auto plan =
          comma == std::string_view::npos ? std::string_view{} : trim(line.substr(comma + 1));
      if (who.empty() || plan.empty()) {
        problem(name, number, "is not WHO,PLAN", "for example: sha256:HEX,premium");
        return;
      }
      if (number == 1 && plan == "plan") return;  // a header line
      if (!spec_.plans.contains(std::string(plan))) {
        std::vector<std::string_view> names;
        for (const auto& [known, rate] : spec_.plans) names.push_back(known);
        problem(name, number, "unknown plan \"" + std::string(plan) + "\"",
                names.empty() ? "the policy file has no plans" : suggest(plan, names));
        return;
      }
      std::optional<std::string> key =
          by == policy::key_kind::user ? std::string(who) : key_digest(who);
      if (!key) {
        problem(name, number, digest_problem, "or write the key itself");
        return;
      }
      const auto [at, fresh] = plan_of_.try_emplace(
          std::move(*key),
          plan_line{.plan = std::string(plan), .file = path_of(name), .line = number});
      if (!fresh && at->second.plan != plan) {
        problem(name, number,
                "gives a second plan to the one of " + at->second.file + ":" +
                    std::to_string(at->second.line),
                "keep one of the two lines");
      }
    });
  }

  const policy::policy_spec& spec_;
  std::string folder_;
  const std::function<std::optional<std::string>(const std::string&)>& read_;
  std::map<std::string, plan_line> plan_of_;
  side_files out_;
};

}  // namespace

side_files load_side_files(
    const policy::policy_spec& spec, const std::string& folder,
    const std::function<std::optional<std::string>(const std::string& path)>& read) {
  return reader(spec, folder, read).all();
}

}  // namespace penstock::config
