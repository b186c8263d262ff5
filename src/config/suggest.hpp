// "did you mean": the nearest of the accepted words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock::config {

// The known word nearest to `word`: at most a third of its letters differ (insertions, deletions,
// swaps of neighbours; case and '-' for '_' do not count). Empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       std::span<const std::string_view> known);

// `did you mean "x"?`, or `one of a, b, c` when none is near.
[[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string_view> known);

}  // namespace penstock::config
