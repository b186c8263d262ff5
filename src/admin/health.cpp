#include "admin/health.hpp"

#include <string>

#include "admin/levels.hpp"

namespace penstock::admin {
namespace {

constexpr std::string_view plain = "text/plain; charset=utf-8";
constexpr std::string_view no_store = "Cache-Control: no-store\r\n";

void answer_ready(net::http_exchange& x, const readiness& r) {
  std::string text = !r.ready ? "not ready\n" : r.reasons.empty() ? "ready\n" : "degraded\n";
  for (const std::string& reason : r.reasons) text.append("- ").append(reason).append("\n");
  x.answer(r.ready ? 200 : 503, plain, text, no_store);
}

}  // namespace

bool answer_health(net::http_exchange& x, std::string_view path, operations& asks,
                   telemetry::metrics& counts) {
  if (path != "/livez" && path != "/readyz" && path != "/metrics") return false;
  if (x.head().method != "GET" && x.head().method != "HEAD") {
    net::answer_method_not_allowed(x, "GET, HEAD");
  } else if (path == "/livez") {
    x.answer(200, plain, "alive\n", no_store);
  } else if (path == "/readyz") {
    answer_ready(x, asks.ready());
  } else {
    set_levels(counts, asks);
    x.answer(200, telemetry::exposition_content_type, counts.scrape(), no_store);
  }
  return true;
}

void health_face::handle(net::http_exchange& x) {
  if (!answer_health(x, x.head().path, asks_, counts_)) net::answer_not_found(x);
}

}  // namespace penstock::admin
