// The tables of every section of the file, and the list of them for the reference page.
#pragma once

#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/quota_fields.hpp"
#include "config/reader.hpp"

namespace penstock::config {

// Reads the whole file. Problems are reported through `v`.
void read_root(const value& v, config& out);

void read_store(const value& v, config& out);
void read_gateway(const value& v, config& out);
void read_access_log(const value& v, gateway_config& out);  // within gateway
void read_tls(const value& v, std::optional<tls_config>& out);
void read_upstream_tls(const value& v, gateway_config& out);
// Relative paths become relative to the policy's folder.
void place_tls_files(std::optional<tls_config>& tls, const std::string& policy_file);
void place_upstream_tls_files(gateway_config& g, const std::string& policy_file);
void read_decision(const value& v, config& out);
void read_admin(const value& v, config& out);
void read_health(const value& v, config& out);
void read_client(const value& v, config& out);
void read_identity(const value& v, config& out);
void read_exempt(const value& v, config& out);
void read_block(const value& v, config& out);
void read_responses(const value& v, config& out);
void read_paths(const value& v, config& out);
void read_plans(const value& v, config& out);
void read_limits(const value& v, config& out);

// Shared by `responses:` and a limit's `response:`.
std::span<const field<policy::response_spec>> refusal_table();

// What a limit or plan says about its quota, with the values to blame.
struct quota_draft {
  quota_fields fields;
  std::vector<value> rate_values;
  std::optional<value> rate, rates, algorithm, burst, burst_window, queue, undelayed, max_delay,
      max_entries;
};
std::span<const field<quota_draft>> quota_table();
// Reports what is wrong; `out` is set only when nothing is.
void finish_quota(const value& owner, const quota_draft& draft, policy::rate_spec& out);

// One part of the reference page.
struct section_doc {
  std::string_view path;  // "gateway", "limits[]", "" for the top level
  std::string_view intro;
  std::vector<field_doc> fields;
};
// In the order of the page.
[[nodiscard]] std::vector<section_doc> all_sections();

// Each file's own part of all_sections().
void describe_root(std::vector<section_doc>& to);
void describe_store(std::vector<section_doc>& to);
void describe_listeners(std::vector<section_doc>& to);
void describe_access_log(std::vector<section_doc>& to);
void describe_tls(std::vector<section_doc>& to);  // of the gateway
void describe_decision_tls(std::vector<section_doc>& to);
void describe_client(std::vector<section_doc>& to);
void describe_exempt(std::vector<section_doc>& to);
void describe_responses(std::vector<section_doc>& to);
void describe_limits(std::vector<section_doc>& to);

template <class T>
std::vector<field_doc> docs_of(std::span<const field<T>> table) {
  std::vector<field_doc> out;
  for (const auto& row : table) out.push_back(row.about);
  return out;
}
template <class T, std::size_t N>
std::vector<field_doc> docs_of(const field<T> (&table)[N]) {
  return docs_of(std::span<const field<T>>(table));
}

}  // namespace penstock::config
