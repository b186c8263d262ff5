#include "cli/operator/key_argument.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

// The digest is the one that stores hold (docs/reference/keys.md), so that a customer's key finds
// the customer's counter.
TEST(KeyArgument, DigestStandsInForTheSecret) {
  EXPECT_EQ(key_with_digest("api_key#-", "abc"),
            "api_key#ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// Everything else is a key as it stands and reads nothing.
TEST(KeyArgument, OtherKeysAreTakenAsTheyAre) {
  for (const char* const key : {"address:203.0.113.9", "user:-", "api_key#00", "*", ""}) {
    EXPECT_EQ(*key_of(key), key);
  }
}

}  // namespace
}  // namespace penstock::cli
