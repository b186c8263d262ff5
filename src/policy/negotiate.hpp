// What a client would like to read: Accept and Accept-Language, only as far as answers differ.
// Pure; malformed elements count as not said. Sources: RFC 9110 §12.5.1, §12.5.4; RFC 4647 §3.4.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/field.hpp"

namespace penstock::policy {

// Whether the client names application/problem+json and ranks it at least as high as JSON.
[[nodiscard]] bool prefers_problem_json(field_list fields) noexcept;

// A text and its language tag, lower case.
using language_text = std::pair<std::string, std::string>;

// The text that Accept-Language ranks highest ("de-AT" is content with "de"), or nullptr.
[[nodiscard]] const language_text* choose_language(field_list fields,
                                                   std::span<const language_text> texts) noexcept;

}  // namespace penstock::policy
