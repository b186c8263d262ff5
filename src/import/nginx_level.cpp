#include "import/nginx_level.hpp"

#include <algorithm>

#include "import/nginx_values.hpp"

namespace penstock::import {
namespace {

result<bool> read_switch(const directive& d, bool& to) {
  if (d.args.size() != 1 || (d.args[0] != "on" && d.args[0] != "off")) {
    return fault(d.at, "\"" + d.name + "\" is on or off", "write " + d.name + " on;");
  }
  to = d.args[0] == "on";
  return true;
}

// limit_req's numbers: from 1.
result<bool> read_count(const directive& d, std::string_view arg, std::int64_t& to) {
  const auto number = parse_number(arg.substr(arg.find('=') + 1));
  if (!number || *number == 0) {
    return fault(d.at, "\"" + shown(arg) + "\" is no number of requests",
                 "a whole number from 1; leave it out for none");
  }
  to = *number;
  return true;
}

}  // namespace

result<level> level_reader::read(const std::vector<const directive*>& from, const level& outer) {
  level out = outer;
  out.own_uses = false;
  bool own_trusted = false;
  for (const auto* d : from) {
    if (d->name == "limit_req" && !out.own_uses) {
      out.uses.clear();  // a level's own limits replace the inherited ones
      out.own_uses = true;
    }
    if (d->name == "set_real_ip_from" && !own_trusted) {
      out.trusted.clear();
      own_trusted = true;
    }
    if (auto ok = read_one(*d, out); !ok) return ok.error();
  }
  return out;
}

result<bool> level_reader::read_one(const directive& d, level& into) {
  if (d.name == "limit_req") return read_limit_req(d, into);
  if (d.name == "limit_req_dry_run") return read_switch(d, into.dry_run);
  if (d.name == "real_ip_recursive") return read_switch(d, into.recursive);
  if (d.name == "limit_req_status") {
    const auto status = d.args.size() == 1 ? parse_number(d.args[0]) : std::nullopt;
    if (!status || *status < 400 || *status > 599) {
      return fault(d.at, "\"limit_req_status\" is a status", "400 to 599, for example 429");
    }
    into.status = static_cast<int>(*status);
  } else if (d.name == "set_real_ip_from" && !d.args.empty()) {
    into.trusted.push_back(d.args[0]);
    into.trusted_at = d.at;
  } else if (d.name == "real_ip_header" && !d.args.empty()) {
    into.address_header = d.args[0];
    into.address_header_at = d.at;
  } else if (d.name == "limit_conn") {
    leave_out(d,
              "Penstock counts requests over time, not those in progress; a queue (algorithm: "
              "leaky_bucket) bounds how fast an API is entered");
  } else if (d.name == "limit_rate") {
    leave_out(d, "Penstock does not limit the speed of answers");
  } else if (d.name == "deny") {
    leave_out(d, "the gateway lets them pass; `block` refuses addresses, everywhere");
  } else if (d.name == "auth_basic" || d.name == "auth_request") {
    if (d.args.size() != 1 || d.args[0] != "off")
      leave_out(d, "the gateway does not authenticate; the API behind it has to");
  } else if (d.name == "error_page") {
    read_error_page(d);
  }
  return true;
}

void level_reader::leave_out(const directive& d, const char* why) {
  model_.remarks.push_back({remark_kind::left_out, d.at, d.text(), why, true});
}

void level_reader::read_error_page(const directive& d) {
  error_page page{{}, d.at, d.text()};
  for (const auto& arg : d.args) {
    const auto code = parse_number(arg);
    if (code && *code >= 300 && *code <= 599) page.codes.push_back(static_cast<int>(*code));
  }
  if (!page.codes.empty()) model_.error_pages.push_back(std::move(page));
}

result<bool> level_reader::read_limit_req(const directive& d, level& into) {
  limit_use use;
  use.at = d.at;
  use.text = d.text();
  std::string name;
  for (const auto& arg : d.args) {
    result<bool> ok = true;
    if (arg.starts_with("zone=")) {
      name = arg.substr(5);
    } else if (arg.starts_with("burst=")) {
      ok = read_count(d, arg, use.burst);
    } else if (arg.starts_with("delay=")) {
      ok = read_count(d, arg, use.delay);
      use.nodelay = false;  // of delay= and nodelay the last one counts
    } else if (arg == "nodelay") {
      use.nodelay = true;
    } else {
      ok = fault(d.at, "\"limit_req\" does not know \"" + shown(arg) + "\"",
                 "it takes zone=NAME, burst=N, delay=N and nodelay");
    }
    if (!ok) return ok;
  }
  const auto at = std::find_if(model_.zones.begin(), model_.zones.end(),
                               [&](const zone& z) { return z.name == name; });
  if (name.empty() || at == model_.zones.end()) {
    return fault(
        d.at,
        name.empty() ? "\"limit_req\" names no zone" : "there is no zone \"" + shown(name) + "\"",
        "import the nginx.conf whose limit_req_zone defines it, not a part");
  }
  use.zone = static_cast<std::size_t>(at - model_.zones.begin());
  const bool twice = std::any_of(into.uses.begin(), into.uses.end(),
                                 [&](const limit_use& u) { return u.zone == use.zone; });
  if (twice) {
    return fault(d.at, "zone \"" + shown(name) + "\" limits this level twice",
                 "remove one of the lines");
  }
  into.uses.push_back(std::move(use));
  return true;
}

}  // namespace penstock::import
