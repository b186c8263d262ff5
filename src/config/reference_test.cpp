#include "config/reference.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace penstock::config {
namespace {

// A key without its line, or a line without its key, is a page that lies.
TEST(ReferencePage, IsWhatTheReaderReads) {
  const auto path =
      std::filesystem::path(PENSTOCK_SOURCE_DIR) / "docs" / "reference" / "configuration.md";
  if (std::getenv("PENSTOCK_UPDATE_GOLDEN") != nullptr)
    std::ofstream(path, std::ios::binary) << reference_page();
  std::ostringstream page;
  page << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(page.str(), reference_page());
}

}  // namespace
}  // namespace penstock::config
