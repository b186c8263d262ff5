#include "cli/operator/plain_text.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

// A key or a path can hold anything; on an operator's terminal it must be nothing but text.
TEST(PlainText, NothingThatMovesACursorOrHidesSurvives) {
  const struct {
    const char* name;
    std::string_view text;
    std::string_view want;
  } rows[] = {
      {"plain", "address:203.0.113.9", "address:203.0.113.9"},
      {"letters", "Grüße 漢字 😀", "Grüße 漢字 😀"},
      {"colour", "\x1b[31mred", "\\x1b[31mred"},
      {"title", "\x1b]0;x\x07", "\\x1b]0;x\\x07"},
      {"lines", "a\r\nb\tc", "a\\x0d\\x0ab\\x09c"},
      {"NUL and DEL", std::string_view("\0\x7f", 2), "\\x00\\x7f"},
      {"C1 as UTF-8",
       "\xc2\x9b"
       "31m",
       "\\u{9b}31m"},
      {"C1 as an octet",
       "\x9b"
       "31m",
       "\\x9b31m"},
      {"direction", "\u202eevil", "\\u{202e}evil"},
      {"isolates", "\u2066x\u2069", "\\u{2066}x\\u{2069}"},
      {"no width", "a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"},
      {"line separator", "a\u2028b", "a\\u{2028}b"},
      {"tag", "\U000e0041", "\\u{e0041}"},
      {"backslash", "\\x1b", "\\\\x1b"},
      {"overlong", "\xc0\x9b", "\\xc0\\x9b"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80"},
      {"above Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
      {"cut off", "\xe2\x80", "\\xe2\\x80"},
      {"empty", "", ""},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(plain_text(r.text), r.want) << r.name;
    for (const char c : plain_text(r.text)) {
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << r.name;
    }
  }
}

// Output for scripts is looked at on terminals too; to a JSON parser it is the same text.
TEST(PlainText, JsonHidesNothingAndMeansTheSame) {
  EXPECT_EQ(plain_json("{\"a\":\"Grüße \u202ex\x7f\"}\n"), "{\"a\":\"Grüße \\u202ex\\u007f\"}\n");
  EXPECT_EQ(plain_json("[\"\U000e0041\"]"), "[\"\\udb40\\udc41\"]");
}

// A line that is too long wraps and breaks the picture; a character that is cut in two is no UTF-8.
TEST(PlainText, CutsBetweenCharacters) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("abcd", 3), "ab…");
  EXPECT_EQ(cut("äöüß", 3), "äö…");
  EXPECT_EQ(cut("äöü", 3), "äöü");
  EXPECT_EQ(cut("abc", 1), "…");
  EXPECT_EQ(cut("abc", 0), "");
  EXPECT_EQ(columns_of("äöü…"), 4U);
}

}  // namespace
}  // namespace penstock::cli
