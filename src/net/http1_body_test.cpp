#include <string>

#include <gtest/gtest.h>

#include "net/http1.hpp"

namespace penstock::net::http1 {
namespace {

struct outcome {
  std::string data;
  std::string rest;  // what the reader did not touch
  bool done = false;
  bool bad = false;
  bool operator==(const outcome&) const = default;
};

// Feeds `text` in pieces of `piece` octets.
outcome read(std::string_view text, std::size_t piece, framing f = framing::chunked,
             std::uint64_t length = 0) {
  body_reader reader;
  reader.start(f, length);
  outcome o;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view in = text.substr(at, piece);
    std::size_t used = 0;
    for (;;) {
      const body_reader::step s = reader.next(in.substr(used));
      used += s.consumed;
      o.data += s.data;
      o.done = s.done;
      o.bad = s.bad;
      if (s.done || s.bad || used == in.size()) break;
    }
    at += used;
    if (o.done || o.bad) break;
  }
  o.rest = text.substr(at);
  return o;
}

struct chunk_row {
  const char* name;
  std::string text;
  const char* data;  // nullptr: bad
};

// Every row is a place where chunk readers in the field differ, and so a way to smuggle.
TEST(BodyReader, HoldsChunksToTheirGrammar) {
  const chunk_row rows[] = {
      {"plain", "5\r\nhello\r\n0\r\n\r\n", "hello"},
      {"empty", "0\r\n\r\n", ""},
      {"two chunks", "1\r\na\r\n0002\r\nbc\r\n000\r\n\r\n", "abc"},
      {"extension", "1;x\r\na\r\n0;y=z\r\n\r\n", "a"},
      {"quoted", "1;x=\"\\\"\\\\ ;\r\"\r\na\r\n0\r\n\r\n", nullptr},
      {"quoted with escapes", "1;x=\"\\\"\\\\ ;\t\xff\" ; y\r\na\r\n0\r\n\r\n", "a"},
      {"bad white space everywhere", "1 \t; x = \"\" ; y\t=\tz\r\na\r\n0\r\n\r\n", "a"},
      {"white space after size", "1 \r\na\r\n0\r\n\r\n", nullptr},
      {"white space after value", "1;x=y \r\na\r\n0\r\n\r\n", nullptr},
      {"white space after name", "1;x \r\na\r\n0\r\n\r\n", nullptr},
      {"no value", "1;x=\r\na\r\n0\r\n\r\n", nullptr},
      {"text after quoted", "1;x=\"\"y\r\na\r\n0\r\n\r\n", nullptr},
      {"open quote", "1;x=\"\r\na\r\n0\r\n\r\n", nullptr},
      {"DEL in quoted", "1;x=\"\x7f\"\r\na\r\n0\r\n\r\n", nullptr},
      {"double semicolon", "1;;x\r\na\r\n0\r\n\r\n", nullptr},
      {"plus", "+1\r\na\r\n0\r\n\r\n", nullptr},
      {"16 digits", "0000000000000001\r\na\r\n0\r\n\r\n", "a"},
      {"17 digits", "00000000000000001\r\na\r\n0\r\n\r\n", nullptr},
      {"2^63", "8000000000000000\r\na\r\n0\r\n\r\n", nullptr},
      {"all ones", "ffffffffffffffff\r\na\r\n0\r\n\r\n", nullptr},
      {"LF after last size", "0\n\r\n", nullptr},
      {"CR alone after data", "1\r\na\r0\r\n\r\n", nullptr},
      {"trailers", "0\r\nX-Sum: 1\r\nY:\r\n\r\n", ""},
      {"trailer no colon", "0\r\nX\r\n\r\n", nullptr},
      {"trailer space before colon", "0\r\nX : 1\r\n\r\n", nullptr},
      {"trailer folded", "0\r\nX: 1\r\n 2\r\n\r\n", nullptr},
      {"trailer NUL", std::string("0\r\nX: \0\r\n\r\n", 11), nullptr},
      {"trailer bare LF", "0\r\nX: 1\n\r\n", nullptr},
      {"trailer of framing", "0\r\ntransfer-ENCODING: chunked\r\n\r\n", nullptr},
      {"trailer of routing", "0\r\nHost: a\r\n\r\n", nullptr},
      {"trailer like routing", "0\r\nHosts: a\r\nHos: b\r\nContent-Lengt: 1\r\n\r\n", ""},
  };
  for (const chunk_row& row : rows) {
    for (const std::size_t piece :
         {row.text.size() + 9, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
      const outcome o = read(row.text + "NEXT", piece);
      EXPECT_EQ(o.bad, row.data == nullptr) << row.name << " in pieces of " << piece;
      if (row.data == nullptr) continue;
      EXPECT_TRUE(o.done) << row.name;
      EXPECT_EQ(o.data, row.data) << row.name;
      EXPECT_EQ(o.rest, "NEXT") << row.name;  // never past the last chunk
    }
  }
}

// Without caps a body of no content could keep us reading for ever.
TEST(BodyReader, CapsExtensionsOfAllChunksTogether) {
  std::string text;
  const std::string chunk = "1;" + std::string(1023, 'x') + "\r\na\r\n";  // 1024, and CR ends it
  for (int i = 0; i < 3; ++i) text += chunk;
  EXPECT_TRUE(read(text + "0\r\n\r\n", 7).done);
  EXPECT_TRUE(read(text + chunk + chunk + "0\r\n\r\n", 7).bad);
  const auto one = [](std::size_t n) {
    return "1;" + std::string(n - 2, 'x') + "\r\na\r\n0\r\n\r\n";
  };
  EXPECT_TRUE(read(one(body_reader::extensions_max), 100).done);
  EXPECT_TRUE(read(one(body_reader::extensions_max + 1), 100).bad);
  EXPECT_TRUE(read("1;x=\"" + std::string(body_reader::extensions_max, 'x'), 1000).bad);
}

// The same for trailers.
TEST(BodyReader, CapsTrailers) {
  const auto text = [](std::size_t n) { return "0\r\nX:" + std::string(n - 6, 'v') + "\r\n\r\n"; };
  EXPECT_TRUE(read(text(body_reader::trailers_max), 100).done);
  EXPECT_TRUE(read(text(body_reader::trailers_max + 1), 100).bad);
}

// A length is exact: the next octet belongs to the next message.
TEST(BodyReader, TakesExactlyTheContentLength) {
  EXPECT_EQ(read("helloX", 2, framing::content_length, 5), (outcome{"hello", "X", true, false}));
  body_reader reader;
  reader.start(framing::content_length, 0);
  EXPECT_TRUE(reader.next("X").done);
  EXPECT_EQ(reader.next("X").consumed, 0U);
  reader.start(framing::none);
  EXPECT_TRUE(reader.next("").done);
}

// Whether a close is an end or a cut decides what the client may be told (RFC 9112 8).
TEST(BodyReader, TellsAnEndFromACut) {
  body_reader reader;
  reader.start(framing::content_length, 2);
  EXPECT_FALSE(reader.finish());
  EXPECT_FALSE(reader.next("a").done);
  EXPECT_FALSE(reader.finish());
  EXPECT_TRUE(reader.next("b").done);
  EXPECT_TRUE(reader.finish());
  reader.start(framing::until_close);
  EXPECT_EQ(reader.next("abc").data, "abc");
  EXPECT_TRUE(reader.finish());
  reader.start(framing::chunked);
  EXPECT_EQ(reader.next("0\r\n").consumed, 3U);
  EXPECT_FALSE(reader.finish());
}

// After an error nothing more comes out, whatever is fed.
TEST(BodyReader, StaysBroken) {
  body_reader reader;
  reader.start(framing::chunked);
  EXPECT_TRUE(reader.next("z").bad);
  const body_reader::step s = reader.next("5\r\nhello\r\n0\r\n\r\n");
  EXPECT_TRUE(s.bad);
  EXPECT_TRUE(s.data.empty());
  EXPECT_FALSE(reader.finish());
}

}  // namespace
}  // namespace penstock::net::http1
