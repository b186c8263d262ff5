// /v1/auth, forward-auth for proxies: 200 lets the original request pass, anything below 500
// refuses it, 503 means that nobody could decide. What a queue delays is answered when its turn has
// come.
#pragma once

namespace penstock::decision {

class conversation;

// Takes up the exchange of `c`, which ends in its answer.
void begin_auth(conversation& c);

}  // namespace penstock::decision
