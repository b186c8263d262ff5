// The compiled policy: what compile() builds once and make_plan and conclude read. Private to this
// folder. Immutable after build; safe to share.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text_writer.hpp"
#include "policy/address_set.hpp"
#include "policy/identity.hpp"
#include "policy/key.hpp"
#include "policy/path_index.hpp"
#include "policy/policy.hpp"
#include "policy/refusal.hpp"
#include "policy/window.hpp"

namespace penstock::policy {

// Which windows stand for a rate: windows_[first, first + count); none: unlimited.
struct window_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct compiled_limit {
  std::uint64_t methods = 0;         // bits of policy_impl::methods_
  std::vector<path_pattern> except;  // paths that the limit is not for
  std::uint32_t key = 0;             // index of keys_
  std::uint32_t response = 0;        // index of responders_
  limit_mode mode = limit_mode::enforce;
  cost_spec cost;
  bool only_check = false;
  std::int64_t jitter_us = 0;
  std::optional<key_kind> plan_by;  // absent: rates has one element
  std::uint32_t fallback = 0;       // index of rates
  std::vector<window_range> rates;  // by plan
};

// All given criteria of one entry must hold.
struct exempt_rule {
  address_set addresses;
  std::string header_name;
  sha256_digest header_digest{};
  digest_set api_keys;
  bool needs_api_key = false;
  std::optional<path_pattern> path;
};

// Which plan a client is on.
class plan_table {
 public:
  // Errors: invalid_config naming a plan that `plans` lacks.
  [[nodiscard]] static result<plan_table> create(const side_tables& tables,
                                                 const std::map<std::string, rate_spec>& plans);

  [[nodiscard]] std::optional<std::uint32_t> of_key(const sha256_digest& digest) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> of_user(std::string_view user) const noexcept;

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  std::vector<std::pair<sha256_digest, std::uint32_t>> keys_;  // sorted
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> users_;
};

class policy_impl final : public compiled_policy {
 public:
  // Fills an empty object. Errors: invalid_config, invalid_quota.
  [[nodiscard]] result<bool> build(const policy_spec& spec, const side_tables& tables);

  void make_plan(const request_view& request, plan& out) const override;
  void conclude(const request_view& request, const plan& plan, std::span<const verdict> verdicts,
                conclude_inputs in, decision& out) const override;
  void conclude_unavailable(const request_view& request, decision& out) const override;
  void conclude_banned(const request_view& request, std::uint32_t limit, duration remaining,
                       decision& out) const override;
  [[nodiscard]] std::vector<const counter*> counters_of(std::uint32_t limit,
                                                        std::string_view key) const override;
  [[nodiscard]] std::span<const limit_info> limits() const noexcept override { return infos_; }
  [[nodiscard]] const client_spec& client() const noexcept override { return client_; }
  [[nodiscard]] std::span<const std::string> untrusted_fields() const noexcept override {
    return untrusted_fields_;
  }

 private:
  struct verdict_summary;

  // build
  result<bool> add_limit(const policy_spec& spec, const limit_spec& limit);
  result<bool> add_rates(const policy_spec& spec, const limit_spec& limit, compiled_limit& into);
  result<window_range> add_windows(const limit_spec& limit, const rate_spec& rate);
  result<bool> add_matches(const limit_spec& limit, const path_pattern& pattern,
                           compiled_limit& into);
  result<bool> add_ban(const limit_spec& limit);
  result<bool> add_exempt(const exempt_spec& spec);
  result<std::uint64_t> method_bit(const std::string& method);
  std::uint32_t intern_key(limit_key key);

  // make_plan
  [[nodiscard]] std::uint64_t method_mask(std::string_view method) const noexcept;
  [[nodiscard]] bool is_exempt(const key_facts& facts) const noexcept;
  void plan_limit(std::uint32_t limit, const key_facts& facts, plan& out) const;
  [[nodiscard]] const char* plan_stated(const stated_charge& stated, plan& out) const;
  [[nodiscard]] bool add_charges(std::uint32_t limit, window_range range, const charge& like,
                                 const plan::written_key& key, plan& out) const;
  key_outcome write_key(std::uint32_t key, const key_facts& facts, plan& out,
                        plan::written_key& where) const;
  [[nodiscard]] window_range windows_for(const compiled_limit& limit, const identity& who) const;
  [[nodiscard]] std::int64_t cost_of(const compiled_limit& limit, const request_view& request,
                                     bool from_trusted_peer) const;

  // conclude
  [[nodiscard]] const window& window_of(std::uint32_t limit, const counter& what) const noexcept;
  [[nodiscard]] verdict_summary summarise(const plan& plan,
                                          std::span<const verdict> verdicts) const noexcept;
  void write_rate_headers(const plan& plan, std::span<const verdict> verdicts,
                          std::span<const window* const> windows, const verdict_summary& s,
                          instant decided_at, text_writer& to) const;
  void write_ietf(const plan& plan, std::span<const verdict> verdicts,
                  std::span<const window* const> windows, text_writer& to) const;
  void refuse(const request_view& request, std::uint32_t limit, const refusal& what,
              decision& out) const;

  client_spec client_;
  address_set trusted_;
  address_set blocked_;
  paths_spec paths_;
  identity_reader identity_;
  std::vector<exempt_rule> exempt_;
  std::vector<std::string> untrusted_fields_;
  responses_spec responses_;
  header_names line_starts_;  // "X-RateLimit-Limit: "; empty: not sent
  plan_table plans_;

  path_index index_;
  std::vector<std::string> methods_;  // by bit; bit 63 stands for all others
  std::vector<limit_key> keys_;
  bool needs_host_ = false;
  std::vector<window> windows_;
  std::vector<std::unique_ptr<counter>> ban_counters_;
  std::vector<responder> responders_;  // 0: responses.refused
  std::vector<compiled_limit> limits_;
  std::vector<limit_info> infos_;
};

}  // namespace penstock::policy
