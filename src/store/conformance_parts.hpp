// The parts of the conformance table. Use conformance.hpp.
#pragma once

#include <vector>

#include "store/conformance.hpp"

namespace penstock::store::conformance {

[[nodiscard]] std::vector<scenario> algorithm_scenarios();
[[nodiscard]] std::vector<scenario> batch_scenarios();

}  // namespace penstock::store::conformance
