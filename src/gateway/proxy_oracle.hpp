// What must hold for a gateway whatever its clients and upstreams send: the oracles of its fuzz
// targets, also run over the committed corpora by the unit tests. A whole worker serves one
// connection over real sockets in this thread; nothing waits and no clock matters. Not for
// production.
#pragma once

#include <string>
#include <string_view>

namespace penstock::gateway::testing {

// Octets of a client, the last two of `input` apart, which say how they are delivered. The
// upstream, read by a strict parser of its own, must see exactly the requests that the client's
// octets mean, each once, whole and in order; every one of them must be answered, and the answers
// must parse to the last octet. Empty: all is well; else what is wrong.
[[nodiscard]] std::string check_client(std::string_view input);

// Octets of an upstream that answers the first of a client's two requests. The client must get
// what they mean or an end, and the second request must be answered with its own answer or not at
// all, never with octets that came for the first.
[[nodiscard]] std::string check_upstream(std::string_view input);

// A request head whose fields are `input`: what is sent on has the same framing, lacks what is
// between two neighbours only, and sent through once more does not change further.
[[nodiscard]] std::string check_connection_fields(std::string_view input);

// An authority: what is taken for one comes out of a request as it went in, and two authorities
// (split at the first newline) count as one host exactly when they name the same.
[[nodiscard]] std::string check_authority(std::string_view input);

}  // namespace penstock::gateway::testing
