#include "cli/operator/operator_commands.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>

#include "cli/operator/ask_commands.hpp"
#include "cli/operator/change_commands.hpp"
#include "cli/operator/output.hpp"
#include "cli/operator/top_command.hpp"

namespace penstock::cli {
namespace {

constexpr const char* footer =
    "The token of the admin listener is read from --token-file, PENSTOCK_ADMIN_TOKEN_FILE or\n"
    "PENSTOCK_ADMIN_TOKEN, never from an argument. Exit code: 0 done, 1 the daemon was not "
    "reached\n"
    "or could not do it, 2 the command line or what it names is wrong.";

CLI::App* add(CLI::App& app, operator_flags& f, const char* name, const char* says) {
  auto* const c = app.add_subcommand(name, says);
  c->add_option("--admin", f.admin.address,
                "where the daemon listens; default: $PENSTOCK_ADMIN, else 127.0.0.1:7070")
      ->type_name("ADDR");
  c->add_option("--token-file", f.admin.token_file, "file with the admin token")->type_name("FILE");
  c->add_option("--deadline", f.admin.deadline, "how long to wait for an answer; default: 5s")
      ->type_name("TIME");
  c->add_flag("--plaintext", f.admin.plaintext, "allow an address that is not this machine");
  c->add_flag("--json", f.json, "the daemon's answer as one JSON object");
  c->footer(footer);
  return c;
}

void add_key(CLI::App* c, operator_flags& f) {
  c->add_option("KEY", f.key,
                "as shown by top, for example address:203.0.113.9; 'api_key#-' takes the API key "
                "from standard input")
      ->required();
  c->add_option("--limit", f.limit, "only this limit; default: all that count by such a key")
      ->type_name("NAME");
}

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

template <int (*command)(const admin_client&, const operator_flags&)>
int with_client(const admin_place& place, const operator_flags& flags) {
  return command(admin_client(place), flags);
}

}  // namespace

operator_commands::operator_commands(CLI::App& app) : app_(app) {
  auto& f = flags_;
  auto* c = add(app, f, "top", "watch a running penstock: rates, limits, top keys, refusals");
  c->add_flag("--once", f.once, "print once; so does output that is no terminal");
  c->add_option("--every", f.every, "time between two looks; default: 2s")->type_name("TIME");
  c->add_option("--by", f.by, "what keys are ranked by; default: refusals")
      ->check(CLI::IsMember({"refusals", "requests"}))
      ->type_name("refusals|requests");
  c->add_option("--window", f.window, "over how much time; default: 1m")
      ->check(CLI::IsMember({"1m", "10m", "1h"}))
      ->type_name("1m|10m|1h");
  add(app, f, "status", "is a running penstock well, and what does it do");
  c = add(app, f, "inspect", "what is counted for a key, and its latest refusals");
  add_key(c, f);
  c->get_option("KEY")->required(false);
  c->add_option("--client", f.client, "latest refusals of this address, to find the key")
      ->type_name("IP");
  add_key(add(app, f, "reset", "forget what is counted for a key"), f);
  c = add(app, f, "ban", "refuse a key for a time");
  add_key(c, f);
  c->add_option("--for", f.lasts, "how long, for example 10min")->required()->type_name("TIME");
  c->add_option("--reason", f.reason, "for those who see the ban later")->type_name("TEXT");
  add_key(add(app, f, "unban", "end a ban"), f);
  c = add(app, f, "override", "another quota for a limit, for a time");
  c->add_option("LIMIT", f.limit, "name of the limit")->required();
  c->add_option("QUOTA", f.quota, "for example 20/min burst 40");
  c->add_option("--for", f.lasts, "how long, for example 1h")->type_name("TIME");
  c->add_flag("--lift", f.lift, "end the override");
  add(app, f, "reload", "read the policy file now");
}

std::optional<int> operator_commands::run() const {
  constexpr struct {
    const char* name;
    int (*command)(const admin_place&, const operator_flags&);
  } all[] = {{"top", top_command},
             {"status", with_client<status_command>},
             {"inspect", with_client<inspect_command>},
             {"reset", with_client<reset_command>},
             {"ban", with_client<ban_command>},
             {"unban", with_client<unban_command>},
             {"override", with_client<override_command>},
             {"reload", with_client<reload_command>}};
  for (const auto& one : all) {
    if (!app_.got_subcommand(one.name)) continue;
    const auto place = find_admin(flags_.admin, variable);
    return place ? one.command(*place, flags_) : say_failed(place.error());
  }
  return std::nullopt;
}

}  // namespace penstock::cli
