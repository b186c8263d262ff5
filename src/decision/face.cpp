#include "decision/face.hpp"

#include "decision/auth/auth.hpp"
#include "decision/conversation.hpp"
#include "decision/http/check.hpp"

namespace penstock::decision {
namespace {

bool is_auth(std::string_view path) {
  return path.starts_with(auth_path) &&
         (path.size() == auth_path.size() || path[auth_path.size()] == '/');
}

}  // namespace

void face::handle(net::http_exchange& x) {
  if (!x.attachment) x.attachment = std::make_unique<conversation>(loop_, decider_, trust_);
  auto& c = static_cast<conversation&>(*x.attachment);
  c.exchange = &x;
  const std::string_view path = x.head().path;
  if (is_auth(path)) {
    begin_auth(c);
  } else if (path != check_path) {
    c.exchange = nullptr;
    net::answer_not_found(x);
  } else if (x.head().method != "POST") {
    c.exchange = nullptr;
    net::answer_method_not_allowed(x, "POST");
  } else {
    begin_check(c);
  }
}

void face::abandoned(net::http_exchange& x) {
  if (x.attachment) static_cast<conversation&>(*x.attachment).abandon();
}

}  // namespace penstock::decision
