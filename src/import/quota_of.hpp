// nginx's limit_req as a quota of ours: with nodelay a bucket of burst + 1 (nginx admits its burst
// and the one request that is due), else a queue. Pure.
#pragma once

#include <string>

#include <penstock/quota.hpp>

#include "import/nginx_model.hpp"

namespace penstock::import {

// Not validated: the numbers may be larger than a quota can have.
[[nodiscard]] quota quota_of(const zone& z, const limit_use& use);

// nginx keeps a rate in whole thousandths of a request a second, rounded down. Empty: without loss.
[[nodiscard]] std::string rate_difference(const zone& z);

}  // namespace penstock::import
