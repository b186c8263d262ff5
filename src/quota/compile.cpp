#include "quota/accept.hpp"
#include "quota/compiled.hpp"
#include "quota/names.hpp"
#include "quota/tick.hpp"

namespace penstock {
namespace {

error refusal(const quotas::problem& p) {
  return {errc::invalid_quota, p.text + "; nearest accepted: " + quotas::describe(p.nearest)};
}

}  // namespace

result<quota> validate(const quota& q) {
  if (const auto p = quotas::find_problem(q)) return refusal(*p);
  return q;
}

namespace quotas {

result<compiled> compile(const quota& q) {
  if (const auto p = find_problem(q)) return refusal(*p);
  return *compile_exact(q);
}

}  // namespace quotas
}  // namespace penstock
