// What the peers of a decision listener are believed. A plain value.
#pragma once

namespace penstock::decision {

struct trust {
  bool original = false;  // original method, URI and host in header fields
  bool peer = false;      // every peer is a trusted proxy: its X-Forwarded-For names the client
};

}  // namespace penstock::decision
