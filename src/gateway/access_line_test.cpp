// A line is read by programs that people trust: no client may write a second one.
#include "gateway/access_line.hpp"

#include <string>

#include <gtest/gtest.h>

namespace penstock::gateway {
namespace {

std::string line_of(const access_record& r) {
  std::string out;
  append_access_line(r, out);
  return out;
}

// The whole form, once, because programs depend on it.
TEST(AccessLine, HasThisForm) {
  const access_record r{.began = instant(duration(1'767'225'599'000'042)),
                        .took = duration(1'234),
                        .client = "192.0.2.7",
                        .peer = "10.0.0.1",
                        .method = "GET",
                        .host = "api.test",
                        .path = "/a",
                        .status = 429,
                        .bytes = 310,
                        .decision = "deny",
                        .limit = "per-ip",
                        .shadow_refused = true};
  EXPECT_EQ(line_of(r),
            R"({"time":"2025-12-31T23:59:59.000042Z","client":"192.0.2.7","peer":"10.0.0.1",)"
            R"("method":"GET","host":"api.test","path":"/a","status":429,"complete":true,)"
            R"("bytes":310,"duration_us":1234,"decision":"deny","limit":"per-ip",)"
            R"("shadow_refused":true,"upstream":""})"
            "\n");
}

// Every octet in every text: one line, printable ASCII or valid UTF-8 only.
TEST(AccessLine, StaysOneLineWhateverTheOctets) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = std::string("/a") + static_cast<char>(c) + "\"}\n{\"b\":\"";
    const auto line = line_of({.method = text, .host = text, .path = text});
    EXPECT_EQ(line.find('\n'), line.size() - 1) << c;
    for (const char octet : line.substr(0, line.size() - 1)) {
      EXPECT_GE(static_cast<unsigned char>(octet), 0x20) << c;
      EXPECT_NE(octet, 0x7f) << c;
    }
  }
}

// The longest texts still make a line that fits a loop's ring many times.
TEST(AccessLine, CutsLongTexts) {
  const std::string text(60'000, '\x01');
  EXPECT_LT(line_of({.method = text, .host = text, .path = text}).size(), 20'000U);
}

}  // namespace
}  // namespace penstock::gateway
