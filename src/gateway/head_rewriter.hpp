// Builds every head that leaves the gateway from the parsed form of one that came in: nothing is
// copied that was not understood, so no octet can mean one thing to us and another to the next hop.
// Pure functions; `out` keeps its capacity, so a warm one is filled without allocation.
//
// Sources: RFC 9110 7.6 (intermediaries), RFC 9112 6 (framing), RFC 7239 (Forwarded).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/http1.hpp"

namespace penstock::gateway {

enum class client_scheme : std::uint8_t { http, https };

// What the gateway adds to what the client said.
struct request_facts {
  std::string_view path{};       // the canonical path: what was matched is what is sent
  std::string_view authority{};  // Host for the upstream
  std::string_view peer{};       // text of the socket's peer address
  std::string_view client{};     // text of the client's address as the policy sees it
  bool peer_trusted = false;     // then its forwarding fields are kept and extended
  client_scheme scheme = client_scheme::http;
  std::string_view via{};  // our name
  bool upgrade = false;    // ask for the upgrade that the client wants
  bool expect_continue = false;
  std::span<const std::string>
      untrusted_fields{};  // removed unless the peer is trusted; lower case
};

// Appends the complete head for the upstream, framing included (as the client framed it).
void append_upstream_request(const net::http1::request_head& head, const request_facts& facts,
                             std::string& out);

enum class body_framing : std::uint8_t {
  none,            // no body, no length field (1xx, 204)
  length,          // Content-Length: `length`, octets as they come
  length_no_body,  // the same field, but nothing follows (HEAD, 304); only if the upstream gave one
  chunked,
  until_close
};

struct response_facts {
  body_framing framing = body_framing::none;
  std::uint64_t length = 0;
  int client_minor = 1;                // HTTP/1.x of the request
  bool close = false;                  // the connection ends after this response
  bool upgrade = false;                // 101: Connection and Upgrade go through
  std::string_view decision_fields{};  // complete lines
  std::string_view date{};             // for a response that has none
};

// Appends the complete head for the client.
void append_client_response(const net::http1::response_head& head, const response_facts& facts,
                            std::string& out);

// Appends a 1xx head for the client (100 and 103 in practice).
void append_interim_response(const net::http1::response_head& head, std::string& out);

struct local_answer {
  int status = 500;
  std::string_view fields{};        // complete lines: limits, Retry-After
  std::string_view content_type{};  // empty with an empty body
  std::string_view body{};
  std::string_view date{};
  int client_minor = 1;
  bool close = false;
  bool head_request = false;  // the length is told, the body is not sent
};

// Appends a complete response of the gateway's own.
void append_local_answer(const local_answer& answer, std::string& out);

// The names that an Upgrade field asks for, but for those that would change what speaks on the
// connection without our knowing (h2c): true when there is something to ask for.
[[nodiscard]] bool upgrade_allowed(const net::http1::request_head& head) noexcept;

}  // namespace penstock::gateway
