#include "cli/operator/change_commands.hpp"

#include "cli/operator/amounts.hpp"
#include "cli/operator/answers.hpp"
#include "cli/operator/key_argument.hpp"
#include "cli/operator/output.hpp"
#include "cli/operator/plain_text.hpp"

namespace penstock::cli {
namespace {

// The answer as it is for scripts, or what `say` makes of it.
template <class Say>
int report(const result<std::string>& answer, const operator_flags& flags, Say say) {
  if (!answer) return say_failed(answer.error());
  return print((flags.json ? merged({*answer}) : say(read_answer(*answer))) + "\n");
}

std::string under(const std::string& limit) {
  return limit.empty() ? "" : " under limit " + plain_text(limit);
}

std::string plural(std::int64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

}  // namespace

int reset_command(const admin_client& admin, const operator_flags& flags) {
  const auto key = key_of(flags.key);
  if (!key) return say_failed(key.error());
  return report(admin.post("reset", {{"key", *key}, {"limit", flags.limit}}), flags,
                [&](const object& a) {
                  return "reset " + plain_text(*key) + under(flags.limit) + ": " +
                         plural(number_of(a, "reset"), "counter") + " set back to unused";
                });
}

int ban_command(const admin_client& admin, const operator_flags& flags) {
  const auto key = key_of(flags.key);
  if (!key) return say_failed(key.error());
  return report(
      admin.post(
          "ban",
          {{"key", *key}, {"limit", flags.limit}, {"for", flags.lasts}, {"reason", flags.reason}}),
      flags, [&](const object& a) {
        return "banned " + plain_text(*key) + under(flags.limit) + " until " +
               instant_text(number_of(a, "until_ms"));
      });
}

int unban_command(const admin_client& admin, const operator_flags& flags) {
  const auto key = key_of(flags.key);
  if (!key) return say_failed(key.error());
  return report(admin.post("unban", {{"key", *key}, {"limit", flags.limit}}), flags,
                [&](const object& a) {
                  const auto n = number_of(a, "unbanned");
                  if (n == 0) return plain_text(*key) + under(flags.limit) + " was not banned";
                  return "unbanned " + plain_text(*key) + under(flags.limit) + ": " +
                         plural(n, "ban") + " ended";
                });
}

int override_command(const admin_client& admin, const operator_flags& flags) {
  const std::string limit = plain_text(flags.limit);
  if (flags.lift) {
    if (!flags.quota.empty() || !flags.lasts.empty()) {
      return say_failed({errc::invalid_argument, "--lift takes neither a quota nor --for"});
    }
    return report(admin.post("lift-override", {{"limit", flags.limit}}), flags,
                  [&](const object& a) {
                    return number_of(a, "lifted") == 0
                               ? "limit " + limit + " was not overridden"
                               : "limit " + limit + " has the quota of the policy file again";
                  });
  }
  std::string quota;
  for (const auto& word : flags.quota) quota.append(quota.empty() ? "" : " ").append(word);
  if (quota.empty() || flags.lasts.empty()) {
    return say_failed(
        {errc::invalid_argument, "say the quota and for how long, for example: penstock override " +
                                     limit + " 20/min --for 1h; or --lift"});
  }
  return report(
      admin.post("override", {{"limit", flags.limit}, {"quota", quota}, {"for", flags.lasts}}),
      flags, [&](const object& a) {
        return "limit " + limit + " has " + plain_text(text_of(a, "quota")) + " until " +
               instant_text(number_of(a, "expires_at_ms"));
      });
}

int reload_command(const admin_client& admin, const operator_flags& flags) {
  return report(admin.post("reload", {}), flags, [](const object& a) {
    return "policy generation " + std::to_string(number_of(a, "generation")) + " is in force";
  });
}

}  // namespace penstock::cli
