#include "script_store.hpp"

#include <stdexcept>
#include <vector>

#include "store/redis/request_args.hpp"
#include "store/redis/scripts.hpp"

namespace penstock::redis_test {
namespace {

namespace redis = penstock::store::redis;

std::vector<std::string> names_of(std::span<const charge> charges) {
  std::vector<std::string> names;
  for (const charge& c : charges) names.push_back(script_store::name_of(*c.what, c.key));
  return names;
}

std::span<const net::resp::node> run(blocking_client& client, const redis::script& s,
                                     std::span<const charge> charges, const std::string& args) {
  const std::vector<std::string> names = names_of(charges);
  const std::string count = std::to_string(names.size());
  std::vector<std::string_view> words{"EVALSHA", s.sha1, count};
  words.insert(words.end(), names.begin(), names.end());
  words.emplace_back(args);
  auto answer = client.call(words);
  if (answer.front().text.starts_with("NOSCRIPT")) {
    words[0] = "EVAL";
    words[1] = s.text;
    answer = client.call(words);
  }
  if (answer.front().kind == net::resp::type::error) {
    throw std::runtime_error(std::string(answer.front().text));
  }
  return answer;
}

}  // namespace

std::string script_store::name_of(const counter& what, std::string_view key) {
  std::string name = "penstock:1:{";
  name.append(key).append("}:").append(what.id);
  return name;
}

penstock::store::progress script_store::check(penstock::store::batch& b, instant now) {
  std::string args;
  redis::append_check_args(args, b.charges,
                           b.why == penstock::store::intent::peek ? redis::request_kind::peek
                                                                  : redis::request_kind::take,
                           own_clock ? std::nullopt : std::optional(now));
  const auto answer = run(client_, redis::check_script(b.charges), b.charges, args);
  if (answer.size() != 2 + 6 * b.charges.size()) throw std::runtime_error("size of the answer");
  b.decided_at = instant{duration{answer[1].number}};
  for (std::size_t i = 0; i < b.charges.size(); ++i) {
    const auto fields = answer.subspan(2 + 6 * i, 6);
    const quotas::compiled& q = b.charges[i].what->quota;
    const auto wait = [&](std::size_t k) { return duration{fields[k].number * q.tick_us}; };
    b.verdicts[i] = {.admitted = (fields[0].number & 1) != 0,
                     .never = (fields[0].number & 2) != 0,
                     .limit = q.capacity,
                     .remaining = fields[1].number,
                     .retry_after = wait(2),
                     .reset_after = wait(3),
                     .next_after = wait(4),
                     .delay = wait(5)};
  }
  return penstock::store::progress::done;
}

void script_store::record(std::span<const charge> charges, instant now) {
  std::string args;
  redis::append_check_args(args, charges, redis::request_kind::record,
                           own_clock ? std::nullopt : std::optional(now));
  run(client_, redis::check_script(charges), charges, args);
}

void script_store::refund(std::span<const charge> charges, instant charged_at, instant now) {
  std::string args;
  redis::append_refund_args(args, charges, charged_at,
                            own_clock ? std::nullopt : std::optional(now));
  run(client_, redis::refund_script(), charges, args);
}

void script_store::reset(const counter& what, std::string_view key) {
  client_.call({"DEL", name_of(what, key)});
}

}  // namespace penstock::redis_test
