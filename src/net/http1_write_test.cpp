#include "net/http1_write.hpp"

#include <cstdint>
#include <ctime>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "net/http1.hpp"
#include "net/http1_date.hpp"

namespace penstock::net::http1 {
namespace {

// One misplaced octet here breaks every client.
TEST(HttpWriter, WritesAResponseHead) {
  std::string out;
  append_status_line(out, 429);
  append_field(out, "Content-Length", 12U);
  append_field(out, "Retry-After", std::uint64_t{18446744073709551615U});
  append_field(out, "Empty", "");
  append_head_end(out);
  EXPECT_EQ(out,
            "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 12\r\n"
            "Retry-After: 18446744073709551615\r\nEmpty: \r\n\r\n");
}

// An unregistered status still needs its space (RFC 9112 4).
TEST(HttpWriter, KeepsTheSpaceOfAnAbsentReason) {
  std::string out;
  append_status_line(out, 299);
  EXPECT_EQ(out, "HTTP/1.1 299 \r\n");
}

// What we write, our own reader must take, for it is as strict as any peer.
TEST(HttpWriter, WritesChunksThatTheReaderTakes) {
  std::string out;
  append_chunk_size(out, 26);
  append(out, "abcdefghijklmnopqrstuvwxyz");
  append(out, crlf);
  append(out, last_chunk);
  EXPECT_EQ(out, "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n");
  body_reader reader;
  reader.start(framing::chunked);
  const body_reader::step content = reader.next(out);
  EXPECT_EQ(content.data, "abcdefghijklmnopqrstuvwxyz");
  EXPECT_TRUE(reader.next(std::string_view(out).substr(content.consumed)).done);
}

// A head cut in the middle must never look like a whole one.
TEST(HttpWriter, LeavesOutWhatDoesNotFitAFixedBuffer) {
  std::array<char, 20> memory{};
  fixed_writer out(memory);
  append_request_line(out, "GET", "/abc");  // 19 octets
  EXPECT_FALSE(out.overflowed());
  EXPECT_EQ(out.written(), "GET /abc HTTP/1.1\r\n");
  append(out, "ab");
  append(out, "c");
  EXPECT_TRUE(out.overflowed());
  EXPECT_EQ(out.written().size(), 19U);
}

std::string date(std::int64_t epoch_s) {
  date_cache cache;
  return std::string(cache.at(epoch_s));
}

// Caches and cookies compare this text; the example is RFC 9110's.
TEST(HttpDate, FormatsKnownSeconds) {
  EXPECT_EQ(date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(date(951782400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(date(std::numeric_limits<std::int64_t>::max()), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(date(std::numeric_limits<std::int64_t>::min()), "Sat, 01 Jan 0000 00:00:00 GMT");
}

// The C library is a second opinion over 400 years, leap years and all.
TEST(HttpDate, AgreesWithTheCLibrary) {
  for (std::int64_t t = 0; t < 400LL * 366 * 86400; t += 86399 * 5) {
    const auto c_time = static_cast<std::time_t>(t);
    std::tm parts{};
    gmtime_r(&c_time, &parts);
    std::array<char, 40> want{};
    std::strftime(want.data(), want.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    ASSERT_EQ(date(t), want.data()) << t;
  }
}

// The cache must notice each new second, also one that goes back.
TEST(HttpDate, FollowsTheSecondItIsGiven) {
  date_cache cache;
  EXPECT_EQ(cache.at(59).substr(17, 8), "00:00:59");
  EXPECT_EQ(cache.at(59).substr(17, 8), "00:00:59");
  EXPECT_EQ(cache.at(60).substr(17, 8), "00:01:00");
  EXPECT_EQ(cache.at(1).substr(17, 8), "00:00:01");
}

}  // namespace
}  // namespace penstock::net::http1
