#include "cli/operator/admin_client.hpp"

#include <fstream>
#include <iterator>

#include <boost/json.hpp>

#include "cli/commands.hpp"
#include "cli/operator/plain_text.hpp"
#include "config/grammar/duration.hpp"
#include "net/http1_octets.hpp"
#include "net/http1_write.hpp"
#include "net/json_writer.hpp"

namespace penstock::cli {
namespace {

error wrong(std::string message) {
  return {errc::invalid_argument, std::move(message)};
}

std::string with_hint(const std::string& what, const config::problem& p) {
  return what + ": " + p.message + (p.hint.empty() ? "" : "; " + p.hint);
}

result<std::string> find_token(const admin_flags& flags, const environment& read) {
  std::string file = flags.token_file;
  if (file.empty()) file = read("PENSTOCK_ADMIN_TOKEN_FILE").value_or("");
  constexpr std::string_view blank = " \t\r\n";
  std::string token;
  if (file.empty()) {
    token = read("PENSTOCK_ADMIN_TOKEN").value_or("");
  } else {
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) return wrong("the token file " + plain_text(file) + " cannot be read");
    const auto first = text.find_first_not_of(blank), last = text.find_last_not_of(blank);
    if (first != std::string::npos) token = text.substr(first, last - first + 1);
    if (token.empty()) return wrong("the token file " + plain_text(file) + " is empty");
  }
  // Also keeps a line end in it from becoming a field of its own.
  if (!net::http1::is_field_value(token)) {
    return wrong("the admin token has characters that cannot be sent in a header");
  }
  return token;
}

void append_query(std::string& target, const admin_client::parameters& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    target += separator;
    target.append(name).append("=");
    separator = '&';
    for (const char c : value) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
      if (plain) {
        target += c;
      } else {
        constexpr std::string_view digits = "0123456789ABCDEF";
        const auto octet = static_cast<unsigned char>(c);
        target += '%';
        target += digits[octet >> 4U];
        target += digits[octet & 15U];
      }
    }
  }
}

// The daemon's own sentence; nullopt: the answer is not of an admin API.
std::optional<std::string> sentence_of(const std::string& body) {
  boost::system::error_code failed;
  const auto parsed = boost::json::parse(body, failed);
  if (failed || !parsed.is_object()) return std::nullopt;
  const auto* const text = parsed.get_object().if_contains("error");
  if (text == nullptr || !text->is_string()) return std::nullopt;
  return plain_text(std::string_view(text->get_string()));
}

bool is_object(const std::string& body) {
  boost::system::error_code failed;
  return boost::json::parse(body, failed).is_object() && !failed;
}

}  // namespace

result<admin_place> find_admin(const admin_flags& flags, const environment& read) {
  admin_place place;
  std::string from = "--admin", text = flags.address;
  if (text.empty()) {
    from = "PENSTOCK_ADMIN";
    text = read("PENSTOCK_ADMIN").value_or("");
  }
  if (text.empty()) text = "127.0.0.1:7070";
  const auto address = config::parse_listen(text);
  if (!address) return wrong(with_hint(from, address.error()));
  place.address = *address;
  auto& host = place.address.host;
  if (host == "::") host = "::1";
  if (host.empty() || host == "0.0.0.0") host = "127.0.0.1";
  if (place.address.unix_path.empty() && place.address.port == 0) {
    return wrong(from + ": port 0 is for listening; the daemon's first lines name the real one");
  }
  if (!config::is_local(place.address) && !flags.plaintext) {
    return wrong(from + ": " + config::to_text(place.address) +
                 " is not this machine, and the admin API is not encrypted: run the command there, "
                 "or over `ssh -L 7070:127.0.0.1:7070 HOST`; --plaintext sends it all the same");
  }
  const auto deadline = config::parse_duration(flags.deadline);
  if (!deadline) return wrong(with_hint("--deadline", deadline.error()));
  place.options.deadline = std::chrono::ceil<std::chrono::milliseconds>(*deadline);
  if (place.options.deadline.count() == 0 || place.options.deadline > std::chrono::hours{1}) {
    return wrong("--deadline: more than 0 and at most 1h");
  }
  auto token = find_token(flags, read);
  if (!token) return token.error();
  place.token = std::move(*token);
  return place;
}

result<std::string> admin_client::get(std::string_view path, const parameters& query) const {
  std::string target = "/api/v1/" + std::string(path);
  append_query(target, query);
  return ask("GET", target, {});
}

result<std::string> admin_client::post(std::string_view path, const parameters& members) const {
  std::string body;
  net::json_writer w(body);
  w.begin_object();
  for (const auto& [name, value] : members) {
    if (!value.empty()) w.member(name, value);
  }
  w.end_object();
  return ask("POST", "/api/v1/" + std::string(path), body);
}

result<std::string> admin_client::ask(std::string_view method, const std::string& target,
                                      std::string_view body) const {
  std::string request;
  net::http1::append_request_line(request, method, target);
  // The daemon without a token answers only to names of this machine.
  const std::string host = place_.address.unix_path.empty() ? name() : "localhost";
  net::http1::append_field(request, "Host", host);
  net::http1::append_field(request, "Connection", "close");
  if (!place_.token.empty()) {
    net::http1::append_field(request, "Authorization", "Bearer " + place_.token);
  }
  if (method == "POST") {
    net::http1::append_field(request, "Content-Type", "application/json");
    net::http1::append_field(request, "Content-Length", body.size());
  }
  net::http1::append_head_end(request);
  request += body;

  auto reply = http_call(place_.address, method, request, place_.options);
  if (!reply) return reply.error();
  if (reply->status != 200) return refused(*reply);
  if (!is_object(reply->body)) {
    return error{errc::io, name() +
                               ": the answer is not JSON, so this is not penstock's admin "
                               "listener; --admin must name that one"};
  }
  return std::move(reply->body);
}

error admin_client::refused(const http_reply& reply) const {
  const auto sentence = sentence_of(reply.body);
  if (!sentence) {
    return {errc::io, name() + ": the answer has status " + std::to_string(reply.status) +
                          " and no reason, so this is not penstock's admin listener (its gateway "
                          "or health listener?); --admin must name that one"};
  }
  const std::string text = name() + ": " + *sentence;
  switch (reply.status) {
    case 400:
    case 404:
      return wrong(text);
    case 401:
      return {errc::io,
              text + (place_.token.empty() ? "; put it into a file for --token-file, or into "
                                             "PENSTOCK_ADMIN_TOKEN"
                                           : "; compare it with admin.token of the policy file")};
    case 503:
      return {errc::store_unavailable, text};
    default:
      return {errc::io, text};
  }
}

int exit_code_of(const error& e) noexcept {
  return e.code == errc::invalid_argument ? exit_usage : exit_failure;
}

}  // namespace penstock::cli
