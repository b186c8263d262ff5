#include "cli/operator/answers.hpp"

#include "cli/operator/plain_text.hpp"

namespace penstock::cli {

object read_answer(const std::string& text) {
  boost::system::error_code failed;
  auto value = boost::json::parse(text, failed);
  return value.is_object() ? std::move(value.get_object()) : object{};
}

std::string text_of(const object& from, std::string_view name) {
  const auto* const v = from.if_contains(name);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}

std::int64_t number_of(const object& from, std::string_view name) {
  const auto* const v = from.if_contains(name);
  if (v == nullptr) return 0;
  boost::system::error_code failed;
  const auto n = v->to_number<std::int64_t>(failed);
  return failed ? 0 : n;
}

bool flag_of(const object& from, std::string_view name) {
  const auto* const v = from.if_contains(name);
  return v != nullptr && v->is_bool() && v->get_bool();
}

const object& object_of(const object& from, std::string_view name) {
  static const object none;
  const auto* const v = from.if_contains(name);
  return v != nullptr && v->is_object() ? v->get_object() : none;
}

std::vector<object> rows_of(const object& from, std::string_view name) {
  std::vector<object> rows;
  const auto* const v = from.if_contains(name);
  if (v == nullptr || !v->is_array()) return rows;
  for (const auto& one : v->get_array()) {
    if (one.is_object()) rows.push_back(one.get_object());
  }
  return rows;
}

std::string merged(std::initializer_list<std::string_view> objects) {
  std::string out = "{";
  for (std::string_view one : objects) {
    const auto open = one.find('{'), close = one.rfind('}');
    const std::string_view members = one.substr(open + 1, close - open - 1);
    if (members.find_first_not_of(" \t\r\n") == std::string_view::npos) continue;
    if (out.size() > 1) out += ',';
    out += members;
  }
  return plain_json(out + "}");
}

}  // namespace penstock::cli
