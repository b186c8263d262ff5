// Heads and bodies as a gateway meets them: a browser-like GET of eight fields, its answer, chunks.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "net/http1.hpp"
#include "net/http1_date.hpp"
#include "net/http1_write.hpp"

namespace penstock::net::http1 {
namespace {

const std::string typical_get =
    "GET /api/v1/users/42/orders?page=2&per_page=50 HTTP/1.1\r\n"
    "Host: api.example.test\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
    "Accept: application/json, text/plain, */*\r\n"
    "Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "X-API-Key: 0123456789abcdef0123456789abcdef\r\n"
    "Referer: https://app.example.test/dashboard\r\n"
    "Connection: keep-alive\r\n\r\n";

const std::string typical_answer =
    "HTTP/1.1 200 OK\r\nServer: api\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    "Content-Type: application/json; charset=utf-8\r\nContent-Length: 512\r\n"
    "Cache-Control: no-store\r\nX-Request-Id: 8f14e45f-ceea-467f-a9c1-6f0c1a2b3c4d\r\n\r\n";

void request_head_of_eight_fields(benchmark::State& state) {
  request_parser parser;
  request_head head;
  for (auto _ : state) {
    parser.reset();
    if (parser.parse(typical_get, head) != parse_status::complete) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(typical_get.size()));
}
BENCHMARK(request_head_of_eight_fields);

void request_head_octet_by_octet(benchmark::State& state) {
  request_parser parser;
  request_head head;
  for (auto _ : state) {
    parser.reset();
    for (std::size_t n = 1; n <= typical_get.size(); ++n) {
      benchmark::DoNotOptimize(parser.parse(std::string_view(typical_get).substr(0, n), head));
    }
  }
}
BENCHMARK(request_head_octet_by_octet);

void response_head_of_six_fields(benchmark::State& state) {
  response_parser parser;
  response_head head;
  for (auto _ : state) {
    parser.reset();
    const parse_status status = parser.parse(typical_answer, "GET", head);
    if (status != parse_status::complete) state.SkipWithError("refused");
    benchmark::DoNotOptimize(head);
  }
}
BENCHMARK(response_head_of_six_fields);

// The argument is the size of each chunk.
void chunked_body_of_64_kib(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::string body;
  for (std::size_t at = 0; at < 65536; at += size) {
    append_chunk_size(body, size);
    body.append(size, 'x');
    append(body, crlf);
  }
  append(body, last_chunk);
  body_reader reader;
  for (auto _ : state) {
    reader.start(framing::chunked);
    std::string_view rest = body;
    body_reader::step s;
    while (!s.done) {
      s = reader.next(rest);
      rest.remove_prefix(s.consumed);
      benchmark::DoNotOptimize(s);
    }
  }
  state.SetBytesProcessed(state.iterations() * 65536);
}
BENCHMARK(chunked_body_of_64_kib)->Arg(16)->Arg(1024)->Arg(16384);

void refusal_head_written(benchmark::State& state) {
  std::string out;
  date_cache date;
  for (auto _ : state) {
    out.clear();
    append_status_line(out, 429);
    append_field(out, "Date", date.at(784111777));
    append_field(out, "Retry-After", 12U);
    append_field(out, "X-RateLimit-Limit", 100U);
    append_field(out, "X-RateLimit-Remaining", 0U);
    append_field(out, "Content-Length", 57U);
    append_head_end(out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(refusal_head_written);

}  // namespace
}  // namespace penstock::net::http1
