// Runs the committed fuzz corpora through the fuzz oracles, so that what fuzzing
// once found stays found without a fuzzer.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "net/http1_oracle.hpp"

namespace penstock::net::http1::testing {
namespace {

std::size_t run(const std::string& folder, std::string (*check)(std::string_view)) {
  std::size_t files = 0;
  const std::string path = PENSTOCK_SOURCE_DIR "/src/net/testdata/" + folder;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(check(input), "") << entry.path();
    ++files;
  }
  return files;
}

// A regression here is a way to make two servers disagree about one connection.
TEST(HttpCorpus, RequestsPassTheOracle) {
  EXPECT_GT(run("corpus_request", check_requests), 20U);
}

// The same for answers.
TEST(HttpCorpus, ResponsesPassTheOracle) {
  EXPECT_GT(run("corpus_response", check_response), 20U);
}

// The same for bodies.
TEST(HttpCorpus, BodiesPassTheOracle) {
  EXPECT_GT(run("corpus_body", check_body), 20U);
}

}  // namespace
}  // namespace penstock::net::http1::testing
