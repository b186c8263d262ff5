#include "cli/operator/ask_commands.hpp"

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/operator/answers.hpp"
#include "cli/operator/key_argument.hpp"
#include "cli/operator/output.hpp"
#include "cli/operator/plain_text.hpp"
#include "cli/operator/report_text.hpp"

namespace penstock::cli {
namespace {

void append_table(std::string& text, const text_table& table) {
  if (!table.empty()) text += "\n" + joined(table.lines());
}

}  // namespace

int status_command(const admin_client& admin, const operator_flags& flags) {
  const auto status = admin.get("status");
  if (!status) return say_failed(status.error());
  const auto limits = admin.get("limits");
  if (!limits) return say_failed(limits.error());
  const auto bans = admin.get("bans");
  if (!bans) return say_failed(bans.error());
  const auto overrides = admin.get("overrides");
  if (!overrides) return say_failed(overrides.error());

  const object now = read_answer(*status);
  std::string text;
  if (flags.json) {
    text = merged({*status, *limits, *bans, *overrides}) + "\n";
  } else {
    text = joined(process_lines(now, admin.name())) + joined(detail_lines(now));
    append_table(text, limits_table(read_answer(*limits)));
    append_table(text, overrides_table(read_answer(*overrides)));
    append_table(text, bans_table(read_answer(*bans)));
  }
  const int printed = print(text);
  return flag_of(now, "ready") ? printed : exit_failure;
}

int inspect_command(const admin_client& admin, const operator_flags& flags) {
  if (flags.key.empty() && flags.client.empty()) {
    return say_failed({errc::invalid_argument,
                       "say whose: penstock inspect address:203.0.113.9, or --client 203.0.113.9 "
                       "for the keys that this client was refused by"});
  }
  const auto key = key_of(flags.key);
  if (!key) return say_failed(key.error());
  std::string keys = "{}";
  if (!key->empty()) {
    auto found = admin.get("inspect", {{"key", *key}, {"limit", flags.limit}});
    if (!found) return say_failed(found.error());
    keys = std::move(*found);
  }
  const auto refusals = admin.get(
      "refusals", {{"key", *key}, {"limit", flags.limit}, {"client", flags.client}, {"n", "20"}});
  if (!refusals) return say_failed(refusals.error());
  if (flags.json) return print(merged({keys, *refusals}) + "\n");

  std::string text;
  if (!key->empty()) {
    text = "key " + plain_text(*key) + "\n" + joined(keys_table(read_answer(keys)).lines());
  }
  const auto latest = refusals_table(read_answer(*refusals));
  if (!latest.empty()) {
    text += (text.empty() ? "" : "\n") + joined(latest.lines());
  } else if (key->empty()) {
    text += "none of the latest refusals is of " + plain_text(flags.client) + "\n";
  } else {
    text += "none of the latest refusals is of this key\n";
  }
  return print(text);
}

}  // namespace penstock::cli
