// Members of the admin API's answers. One that is missing or of another type (an older or newer
// daemon) reads as empty, 0 or false: an operator wants the rest. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace penstock::cli {

using boost::json::array;
using boost::json::object;

// Precondition: what admin_client returned.
[[nodiscard]] object read_answer(const std::string& text);

[[nodiscard]] std::string text_of(const object& from, std::string_view name);
[[nodiscard]] std::int64_t number_of(const object& from, std::string_view name);
[[nodiscard]] bool flag_of(const object& from, std::string_view name);
[[nodiscard]] const object& object_of(const object& from, std::string_view name);
// The objects of an array; others are left out.
[[nodiscard]] std::vector<object> rows_of(const object& from, std::string_view name);

// The members of several objects in one, as they were written but for invisible characters, which
// are escaped: {"a":1} and {"b":2} give {"a":1,"b":2}. One line, without its end. Precondition: as
// for read_answer.
[[nodiscard]] std::string merged(std::initializer_list<std::string_view> objects);

}  // namespace penstock::cli
