// A process for tests of the admin face: answers from plain members and records what was asked.
// "later" is answered by finish(), so that a test decides when.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "admin/operations.hpp"

namespace penstock::admin {

class fake_operations final : public operations {
 public:
  readiness now_ready;
  process_status now_status;
  std::vector<limit_info> now_limits;
  std::vector<ban_info> now_bans;
  std::vector<key_state> now_keys;
  other_offenders now_others;
  std::vector<std::string> asked;
  std::function<void()> finish;

  readiness ready() override { return now_ready; }
  process_status status() override { return now_status; }
  std::vector<limit_info> limits() override { return now_limits; }
  std::vector<ban_info> bans() override { return now_bans; }
  std::vector<override_info> overrides() override { return {}; }

  void others_offenders(done<other_offenders> then) override { then(now_others); }
  void inspect(const key_reference& what, done<std::vector<key_state>> then) override {
    asked.push_back("inspect " + what.limit + " " + what.key);
    if (what.key == "later") {
      finish = [then = std::move(then), keys = now_keys] { then(keys); };
    } else if (what.key == "gone") {
      then(error{errc::store_unavailable, "the store does not answer"});
    } else {
      then(now_keys);
    }
  }
  void reset(const key_reference& what, done<std::size_t> then) override {
    asked.push_back("reset " + what.limit + " " + what.key);
    if (what.key == "none") {
      then(error{errc::invalid_argument, "no limit counts by a key like \"none\""});
    } else {
      then(std::size_t{1});
    }
  }
  void ban(const key_reference& what, duration lasts, const std::string& reason,
           done<ban_info> then) override {
    asked.push_back("ban " + what.limit + " " + what.key + " " + std::to_string(lasts.count()));
    now_bans.push_back({what.limit, what.key, instant{lasts}, reason, false});
    then(now_bans.back());
  }
  void unban(const key_reference& what, done<std::size_t> then) override {
    asked.push_back("unban " + what.limit + " " + what.key);
    then(std::exchange(now_bans, {}).size());
  }
  void override_limit(const std::string& limit, const std::string& quota, duration lasts,
                      done<override_info> then) override {
    asked.push_back("override " + limit + " " + quota);
    then(override_info{limit, quota, instant{lasts}});
  }
  void lift_override(const std::string& limit, done<std::size_t> then) override {
    asked.push_back("lift " + limit);
    then(std::size_t{1});
  }
  void reload(done<std::uint64_t> then) override {
    asked.emplace_back("reload");
    then(std::uint64_t{2});
  }
};

}  // namespace penstock::admin
