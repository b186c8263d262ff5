// Runs the committed fuzz corpora through the oracles, and so many changed copies of each seed, so
// that what fuzzing once found stays found without a fuzzer.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/proxy_oracle.hpp"

namespace penstock::gateway::testing {
namespace {

using oracle = std::string (*)(std::string_view);

std::vector<std::string> seeds(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(PENSTOCK_SOURCE_DIR "/src/gateway/testdata/" + folder)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);  // the same order everywhere, so that a seed number means something
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return out;
}

int scale() {
  const char* const text = std::getenv("PENSTOCK_SCALE");
  return text != nullptr ? std::max(1, std::atoi(text)) : 1;
}

// Octets that mean something in HTTP, put where they may hurt; runs of octets of other seeds.
std::string changed(std::string text, const std::string& other, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"\r\n",
                                                  "\n",
                                                  "\r",
                                                  ":",
                                                  " ",
                                                  "\t",
                                                  ",",
                                                  ";",
                                                  "\0",
                                                  "0\r\n\r\n",
                                                  "5\r\nhello\r\n",
                                                  "\r\n\r\n",
                                                  "Content-Length: 5\r\n",
                                                  "Transfer-Encoding: chunked\r\n",
                                                  "Connection: close\r\n",
                                                  "Expect: 100-continue\r\n",
                                                  "HTTP/1.1 200 OK\r\n\r\n",
                                                  "GET / HTTP/1.1\r\nHost: a\r\n\r\n"};
  const auto below = [&random](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t i = 0, n = 1 + below(3); i < n; ++i) {
    const auto at = below(text.size() + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, pieces[below(pieces.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 3:
        text.insert(at, other.substr(below(other.size() + 1), below(64)));
        break;
      default:
        text.insert(at, text.substr(below(text.size() + 1), below(64)));
        break;
    }
  }
  return text;
}

void run(const std::string& folder, oracle check, int copies) {
  const auto all = seeds(folder);
  ASSERT_GT(all.size(), 10U);
  for (const auto& seed : all) EXPECT_EQ(check(seed), "") << ::testing::PrintToString(seed);
  constexpr unsigned first = 20261130;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::mt19937 random(first + static_cast<unsigned>(i));
    for (int copy = 0; copy < copies * scale(); ++copy) {
      const auto input = changed(all[i], all[random() % all.size()], random);
      const auto wrong = check(input);
      ASSERT_EQ(wrong, "") << folder << ", seed " << i << ", copy " << copy << ": "
                           << ::testing::PrintToString(input);
    }
  }
}

// Whatever a client sends: the upstream sees its requests and nothing else (request smuggling).
TEST(ProxyCorpus, ClientsReachTheUpstreamWithTheirRequestsOnly) {
  run("corpus_client", check_client, 10);
}

// Whatever an upstream answers: no octet of it is taken for the answer to the next request.
TEST(ProxyCorpus, AnswersAreNeverMixedUp) {
  run("corpus_upstream", check_upstream, 10);
}

// A client chooses what Connection names; it must not choose how the message is read.
TEST(ProxyCorpus, ConnectionFieldsNeverTouchFraming) {
  run("corpus_connection_fields", check_connection_fields, 50);
}

// A limit by host counts a host once, however it is spelt.
TEST(ProxyCorpus, AuthoritiesCountAsTheHostThatTheyName) {
  run("corpus_authority", check_authority, 100);
}

}  // namespace
}  // namespace penstock::gateway::testing
