#include "decision/http/check_request.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <boost/json.hpp>

#include "base/ascii.hpp"

namespace penstock::decision {
namespace {

namespace json = boost::json;

constexpr std::int64_t cost_max = (std::int64_t{1} << 53) - 1;
constexpr std::size_t headers_max = 200;
constexpr std::size_t charges_max = 64;  // what a store takes in one step
constexpr std::size_t key_parts_max = 16;

std::string_view view(const json::string& s) {
  return {s.data(), s.size()};
}

// Reads one question. The first thing that is wrong stays in `problem`.
class reader {
 public:
  explicit reader(std::string where) : where_(std::move(where)) {}

  bool read(const json::value& v, check_question& out) {
    const auto* const object = v.if_object();
    if (object == nullptr) return fail("", "is an object that describes a request");
    check_question::named_charge single;
    bool described = false;
    for (const auto& [key, value] : *object) {
      const std::string_view name{key.data(), key.size()};
      const bool charge_member = name == "limit" || name == "key";
      if (charge_member ? !charge(name, value, single) : !member(name, value, out)) return false;
      described =
          described || !(charge_member || name == "charges" || name == "cost" || name == "peek");
    }
    if (!single.key.empty() && single.limit.empty()) return fail("key", "belongs to a limit");
    if (!single.limit.empty()) {
      if (!out.charges.empty()) return fail("limit", "stands in each of the charges");
      single.cost = out.cost;
      out.charges.push_back(std::move(single));
    } else if (!out.charges.empty() && out.cost >= 0) {
      return fail("cost", "stands in each of the charges");
    }
    if (!out.charges.empty() && described) {
      return fail("limit", "and charges stand in place of a request's description");
    }
    keep_views(out);
    return true;
  }

  std::string problem;

 private:
  static void keep_views(check_question& out) {
    out.fields.reserve(out.headers.size());
    for (const auto& h : out.headers) out.fields.push_back({h.name, h.value});
    out.stated.reserve(out.charges.size());
    for (const auto& c : out.charges) out.stated.push_back({c.limit, c.key, c.cost});
  }

  bool fail(std::string_view name, std::string_view what) {
    problem = where_;
    if (!problem.empty() && !name.empty()) problem += '.';
    problem.append(name);
    if (!problem.empty()) problem += ": ";
    problem.append(what);
    return false;
  }

  bool member(std::string_view name, const json::value& v, check_question& out) {
    if (name == "method") return text(name, v, out.method) && method(name, out);
    if (name == "path") return text(name, v, out.target);
    if (name == "host") return text(name, v, out.host);
    if (name == "user") return text(name, v, out.user);
    if (name == "address") return address(name, v, out);
    if (name == "headers") return headers(name, v, out);
    if (name == "charges") return charges(name, v, out);
    if (name == "cost") return cost(name, v, out.cost);
    if (name == "peek") return truth(name, v, out.peek);
    return fail(name, "is not a member of a check");
  }

  bool text(std::string_view name, const json::value& v, std::string& out) {
    const auto* const s = v.if_string();
    if (s == nullptr || s->empty()) return fail(name, "is a text that is not empty");
    out = view(*s);
    return true;
  }

  bool charge(std::string_view name, const json::value& v, check_question::named_charge& out) {
    if (name == "limit") return text(name, v, out.limit);
    if (name == "cost") return cost(name, v, out.cost);
    if (name != "key") return fail(name, "is not a member of a charge");
    if (v.is_string()) return text(name, v, out.key.emplace_back());
    const auto* const list = v.if_array();
    if (list == nullptr || list->size() > key_parts_max) {
      return fail(name, "is a text like \"user:42\" or a list of at most 16");
    }
    for (const auto& one : *list) {
      if (!text(name, one, out.key.emplace_back())) return false;
    }
    return true;
  }

  bool charges(std::string_view name, const json::value& v, check_question& out) {
    const auto* const list = v.if_array();
    if (list == nullptr || list->empty() || list->size() > charges_max) {
      return fail(name, "is a list of 1 to 64 charges");
    }
    for (const auto& one : *list) {
      const auto* const object = one.if_object();
      if (object == nullptr) return fail(name, "is a list of objects");
      auto& charged = out.charges.emplace_back();
      for (const auto& [key, value] : *object) {
        if (!charge({key.data(), key.size()}, value, charged)) return false;
      }
      if (charged.limit.empty()) return fail(name, "name a limit each");
    }
    return true;
  }

  bool truth(std::string_view name, const json::value& v, bool& out) {
    if (!v.is_bool()) return fail(name, "is true or false");
    out = v.get_bool();
    return true;
  }

  bool cost(std::string_view name, const json::value& v, std::int64_t& out) {
    if (!v.is_int64() || v.get_int64() < 0 || v.get_int64() > cost_max) {
      return fail(name, "is a whole number from 0 to 9007199254740991");
    }
    out = v.get_int64();
    return true;
  }

  bool method(std::string_view name, const check_question& q) {
    return std::all_of(q.method.begin(), q.method.end(), ascii::is_token) ||
           fail(name, "is an HTTP method");
  }

  bool address(std::string_view name, const json::value& v, check_question& out) {
    std::string written;
    if (!text(name, v, written)) return false;
    out.address = policy::address::parse(written);
    return out.address || fail(name, "is an IPv4 or IPv6 address, without brackets and port");
  }

  bool header(std::string_view name, std::string_view key, const json::value& v,
              check_question& out) {
    const auto* const s = v.if_string();
    if (s == nullptr) return fail(name, "maps names to texts or lists of texts");
    if (out.headers.size() == headers_max) return fail(name, "has at most 200 values");
    out.headers.push_back({std::string(key), std::string(ascii::trim(view(*s)))});
    return true;
  }

  bool headers(std::string_view name, const json::value& v, check_question& out) {
    const auto* const object = v.if_object();
    if (object == nullptr) return fail(name, "maps names to texts or lists of texts");
    for (const auto& [key, value] : *object) {
      const std::string_view field_name{key.data(), key.size()};
      if (const auto* const list = value.if_array()) {
        for (const auto& one : *list) {
          if (!header(name, field_name, one, out)) return false;
        }
      } else if (!header(name, field_name, value, out)) {
        return false;
      }
    }
    return true;
  }

  std::string where_;
};

error wrong(std::string message) {
  return {errc::invalid_argument, std::move(message)};
}

}  // namespace

result<check_questions> read_check_questions(std::string_view text) {
  boost::system::error_code failed;
  json::parse_options strict;
  strict.max_depth = 8;
  // A usual question fits; a longer one goes on on the heap.
  std::array<unsigned char, 4096> block;
  json::monotonic_resource memory(block.data(), block.size());
  const json::value v = json::parse({text.data(), text.size()}, failed, &memory, strict);
  if (failed) return wrong("the body is not JSON: " + failed.message());

  check_questions out;
  const auto* const object = v.if_object();
  const auto* const checks = object != nullptr ? object->if_contains("checks") : nullptr;
  if (checks == nullptr) {
    reader r("");
    if (!r.read(v, out.all.emplace_back())) return wrong(std::move(r.problem));
    return out;
  }
  out.batch = true;
  const auto* const list = checks->if_array();
  if (list == nullptr || list->empty() || list->size() > questions_max) {
    return wrong("checks: is a list of 1 to 100 checks");
  }
  if (object->size() != 1) return wrong("checks: stands alone; everything else is said in each");
  out.all.resize(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    reader r("checks[" + std::to_string(i) + "]");
    if (!r.read((*list)[i], out.all[i])) return wrong(std::move(r.problem));
  }
  return out;
}

}  // namespace penstock::decision
