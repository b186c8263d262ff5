// The rows of the conformance table on the scripts, told the time.
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

#include "redis_server.hpp"
#include "script_store.hpp"
#include "store/conformance.hpp"

namespace penstock::redis_test {
namespace {

namespace conformance = penstock::store::conformance;

// What is written by hand for the algorithms holds in Redis, row by row.
TEST(ScriptRows, AnswerAsWritten) {
  PENSTOCK_NEEDS_REDIS();
  redis_server server;
  script_store redis(server.socket_path());
  for (const conformance::scenario& s : conformance::scenarios()) {
    const auto differences = conformance::play(
        s, {.under_test = redis}, instant{std::chrono::seconds{1'800'000'000}}, s.name + ".");
    for (const std::string& line : differences) ADD_FAILURE() << s.name << ": " << line;
  }
}

}  // namespace
}  // namespace penstock::redis_test
