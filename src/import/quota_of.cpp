#include "import/quota_of.hpp"

#include <algorithm>

namespace penstock::import {

quota quota_of(const zone& z, const limit_use& use) {
  quota q;
  q.count = z.count;
  q.period = z.per_minute ? std::chrono::minutes{1} : std::chrono::seconds{1};
  if (use.nodelay || use.delay >= use.burst) {
    q.kind = algorithm::token_bucket;
    q.burst = use.burst + 1;
  } else {
    q.kind = algorithm::leaky_bucket;
    q.queue = use.burst;
    q.undelayed = use.delay;
  }
  return q;
}

std::string rate_difference(const zone& z) {
  if (!z.per_minute || z.count % 3 == 0) return {};
  const auto milli = z.count * 1000 / 60;
  const auto hundredths = milli * 6;  // a minute
  const auto fraction = std::to_string(hundredths % 100 + 100).substr(1);
  return "nginx rounds " + std::to_string(z.count) + "r/m down to " + std::to_string(milli) +
         "/1000 a second, which is " + std::to_string(hundredths / 100) + "." + fraction +
         " a minute; here it is " + std::to_string(z.count);
}

}  // namespace penstock::import
