// The reference page of the configuration file, from the same tables that read it.
#pragma once

#include <string>

namespace penstock::config {

// The text of docs/reference/configuration.md; a test keeps the file equal to it.
[[nodiscard]] std::string reference_page();

}  // namespace penstock::config
