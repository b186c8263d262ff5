#include "import/nginx_model.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "import/nginx_level.hpp"
#include "import/nginx_values.hpp"

namespace penstock::import {
namespace {

// Where directives of the http level stand: in `http`, or at the top of a part such as a site's
// file, which nginx would include there.
std::vector<const directive*> http_level(const nginx_tree& tree) {
  std::vector<const directive*> out;
  bool whole = false;
  for (const auto& d : tree.top) {
    if (d.name != "http" || !d.block) continue;
    whole = true;
    for (const auto& child : d.children) out.push_back(&child);
  }
  if (whole) return out;
  for (const auto& d : tree.top) out.push_back(&d);
  return out;
}

bool is_pass(std::string_view name) {
  constexpr std::array<std::string_view, 6> names{"proxy_pass", "fastcgi_pass", "uwsgi_pass",
                                                  "scgi_pass",  "grpc_pass",    "memcached_pass"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool passes_on(const std::vector<location>& locations) {
  return std::any_of(locations.begin(), locations.end(), [](const location& l) {
    return !l.to.directive.empty() || passes_on(l.nested);
  });
}

class model_reader {
 public:
  result<nginx_model> run(const nginx_tree& tree) {
    note_missing(tree);
    const auto http = http_level(tree);
    for (const auto* d : http) {
      if (auto ok = read_definition(*d); !ok) return ok.error();
    }
    level_reader levels(out_);
    const auto outer = levels.read(http, {});
    if (!outer) return outer.error();
    for (const auto* d : http) {
      if (d->name != "server" || !d->block) continue;
      auto s = read_server(*d, *outer, levels);
      if (!s) return s.error();
      out_.servers.push_back(*std::move(s));
    }
    // A part with locations only, as a file that a server includes.
    server part;
    part.rules = *outer;
    if (auto ok = read_locations(http, *outer, levels, part.locations); !ok) return ok.error();
    if (out_.servers.empty() && (!part.locations.empty() || part.rules.own_uses)) {
      part.at = http.empty() ? place{} : http.front()->at;
      out_.servers.push_back(std::move(part));
    }
    mark_defaults();
    return std::move(out_);
  }

 private:
  // Files of other languages than limits are no loss.
  void note_missing(const nginx_tree& tree) {
    constexpr std::array<std::string_view, 10> harmless{
        "mime.types",   "fastcgi_params", "fastcgi.conf", "uwsgi_params",           "scgi_params",
        "proxy_params", "koi-win",        "koi-utf",      "options-ssl-nginx.conf", "win-utf"};
    for (const auto& m : tree.missing) {
      const auto slash = m.path.rfind('/');
      const std::string_view name = std::string_view(m.path).substr(slash + 1);
      if (std::find(harmless.begin(), harmless.end(), name) != harmless.end()) continue;
      out_.remarks.push_back({remark_kind::left_out, m.at, "include " + shown(m.path),
                              "the file cannot be read; what it says of limits is missing here"});
    }
  }

  result<bool> read_definition(const directive& d) {
    if (d.name == "limit_req_zone") return read_zone(d);
    if (d.name == "map" && d.block) return read_map(d);
    if (d.name == "geo" && d.block) return read_geo(d);
    if (d.name == "upstream" && d.block) read_upstream(d);
    return true;
  }

  result<bool> read_zone(const directive& d) {
    zone z;
    z.at = d.at;
    bool sized = false;
    std::vector<std::string> keys;
    for (const auto& arg : d.args) {
      if (arg.starts_with("zone=")) {
        const auto colon = arg.find(':');
        z.name = arg.substr(5, colon == std::string::npos ? colon : colon - 5);
        const auto size =
            colon == std::string::npos ? std::nullopt : parse_size(arg.substr(colon + 1));
        if (z.name.empty() || !size) {
          return fault(d.at, "\"" + shown(arg) + "\" is no zone",
                       "write zone=NAME:SIZE, as zone=api:10m");
        }
        z.size = *size;
        sized = true;
      } else if (arg.starts_with("rate=")) {
        if (auto ok = read_rate(d, arg, z); !ok) return ok;
      } else if (arg != "sync") {
        keys.push_back(arg);
      }
    }
    if (!sized || keys.size() != 1) {
      return fault(d.at, "\"limit_req_zone\" needs one key and a zone",
                   "write limit_req_zone $binary_remote_addr zone=NAME:10m rate=10r/s");
    }
    z.key = keys.front();
    const bool known = std::any_of(out_.zones.begin(), out_.zones.end(),
                                   [&](const zone& other) { return other.name == z.name; });
    if (known) {
      return fault(d.at, "zone \"" + shown(z.name) + "\" is defined twice",
                   "give one another name");
    }
    out_.zones.push_back(std::move(z));
    return true;
  }

  static result<bool> read_rate(const directive& d, std::string_view arg, zone& z) {
    std::string_view number = arg.substr(5);
    z.per_minute = number.ends_with("r/m");
    const bool unit = z.per_minute || number.ends_with("r/s");
    if (unit) number.remove_suffix(3);
    const auto count = unit ? parse_number(number) : std::nullopt;
    if (!count || *count == 0) {
      return fault(d.at, "\"" + shown(arg) + "\" is no rate",
                   "write rate=10r/s or rate=30r/m, a whole number from 1");
    }
    z.count = *count;
    return true;
  }

  result<bool> read_map(const directive& d) {
    if (d.args.size() != 2 || !d.args[1].starts_with('$')) {
      return fault(d.at, "\"map\" takes a value and a variable", "write map $source $result { }");
    }
    variable_block v;
    v.source = d.args[0];
    v.at = d.at;
    for (const auto& line : d.children) {
      const bool parameter = line.args.empty();
      if (parameter && line.name == "hostnames") v.unknown = line.name;
      if (parameter) continue;
      if (line.name == "default") {
        v.fallback = line.args[0];
      } else {
        // A backslash keeps the words of map itself from being taken for parameters.
        const bool escaped = line.name.starts_with('\\');
        v.cases.push_back({line.name.substr(escaped ? 1 : 0), line.args[0], line.at});
      }
    }
    out_.variables[d.args[1].substr(1)] = std::move(v);
    return true;
  }

  result<bool> read_geo(const directive& d) {
    if (d.args.empty() || d.args.size() > 2 || !d.args.back().starts_with('$')) {
      return fault(d.at, "\"geo\" takes a variable", "write geo $result { }");
    }
    variable_block v;
    v.geo = true;
    v.source = d.args.size() == 2 ? d.args[0] : "$remote_addr";
    v.at = d.at;
    for (const auto& line : d.children) {
      if (line.name == "ranges" && line.args.empty()) {
        v.ranges = true;
      } else if (line.name == "proxy" || line.name == "proxy_recursive") {
        v.unknown = "proxy";
      } else if (line.name == "delete" && line.args.size() == 1) {
        std::erase_if(v.cases, [&](const auto& c) { return c.pattern == line.args[0]; });
      } else if (line.args.empty()) {
        return fault(line.at, "\"" + shown(line.name) + "\" has no value", "write NETWORK VALUE;");
      } else if (line.name == "default") {
        v.fallback = line.args[0];
      } else {
        v.cases.push_back({line.name, line.args[0], line.at});
      }
    }
    out_.variables[d.args.back().substr(1)] = std::move(v);
    return true;
  }

  void read_upstream(const directive& d) {
    upstream_group group;
    group.at = d.at;
    std::vector<std::string> spare;
    for (const auto& line : d.children) {
      if (line.name == "server" && !line.args.empty()) {
        const auto has = [&](std::string_view word) {
          return std::find(line.args.begin() + 1, line.args.end(), word) != line.args.end();
        };
        if (has("down")) continue;
        (has("backup") ? spare : group.servers).push_back(line.args[0]);
        for (auto a = line.args.begin() + 1; a != line.args.end(); ++a)
          if (*a != "weight=1" && (a->starts_with("weight=") || *a == "backup"))
            group.ignored.push_back(shown(*a));
      } else if (line.name == "ip_hash" || line.name == "hash" || line.name == "least_conn" ||
                 line.name == "random") {
        group.ignored.push_back(line.text());
      }
    }
    if (group.servers.empty()) group.servers = spare;
    if (!d.args.empty()) out_.upstreams[d.args[0]] = std::move(group);
  }

  result<server> read_server(const directive& d, const level& outer, level_reader& levels) {
    server s;
    s.at = d.at;
    std::vector<const directive*> children;
    for (const auto& c : d.children) children.push_back(&c);
    for (const auto& c : d.children) {
      if (c.name == "server_name") s.names.insert(s.names.end(), c.args.begin(), c.args.end());
      if (c.name == "return") s.answers_itself = true;
      if (c.name == "limit_req_zone")
        return fault(c.at, "\"limit_req_zone\" is not allowed in a server", "move it to http");
      if (c.name != "listen") continue;
      std::string text;
      for (const auto& a : c.args) {
        text += (text.empty() ? "" : " ") + a;
        if (a == "default_server") s.says_default = s.is_default = true;
      }
      s.listens.push_back(shown(text));
    }
    auto rules = levels.read(children, outer);
    if (!rules) return rules.error();
    s.rules = *std::move(rules);
    if (auto ok = read_locations(children, s.rules, levels, s.locations); !ok) return ok.error();
    return s;
  }

  result<bool> read_locations(const std::vector<const directive*>& from, const level& outer,
                              level_reader& levels, std::vector<location>& to) {
    for (const auto* d : from) {
      if (d->name != "location" || !d->block) continue;
      auto l = read_location(*d, outer, levels);
      if (!l) return l.error();
      to.push_back(*std::move(l));
    }
    return true;
  }

  result<location> read_location(const directive& d, const level& outer, level_reader& levels) {
    location l;
    l.at = d.at;
    l.text = d.text();
    if (auto ok = read_matcher(d, l); !ok) return ok.error();
    std::vector<const directive*> children;
    for (const auto& c : d.children) {
      children.push_back(&c);
      if (c.name == "return") l.answers_itself = true;
      if (c.name == "internal") l.internal = true;
      if (is_pass(c.name) && !c.args.empty() && l.to.directive.empty())
        l.to = {c.name, c.args[0], c.at};
    }
    auto rules = levels.read(children, outer);
    if (!rules) return rules.error();
    l.rules = *std::move(rules);
    if (auto ok = read_locations(children, l.rules, levels, l.nested); !ok) return ok.error();
    return l;
  }

  static result<bool> read_matcher(const directive& d, location& l) {
    struct row {
      std::string_view sign;
      location_kind kind;
    };
    // The longest sign first: nginx also takes a sign without a space behind it.
    constexpr std::array<row, 4> signs{{{"~*", location_kind::regex_nocase},
                                        {"^~", location_kind::final_prefix},
                                        {"~", location_kind::regex},
                                        {"=", location_kind::exact}}};
    if (d.args.empty() || d.args.size() > 2) {
      return fault(d.at, "\"location\" takes one path", "quote a path that has spaces");
    }
    l.pattern = d.args.back();
    if (d.args.size() == 2) {
      const auto sign = std::find_if(signs.begin(), signs.end(),
                                     [&](const row& r) { return r.sign == d.args[0]; });
      if (sign == signs.end()) {
        return fault(d.at, "\"" + shown(d.args[0]) + "\" is no sign of a location",
                     "one of = ~ ~* ^~");
      }
      l.kind = sign->kind;
      return true;
    }
    for (const auto& r : signs) {
      if (!l.pattern.starts_with(r.sign)) continue;
      l.kind = r.kind;
      l.pattern.erase(0, r.sign.size());
      return true;
    }
    if (l.pattern.starts_with('@')) l.kind = location_kind::named;
    return true;
  }

  // Of each port the first server is the default, when none says so.
  void mark_defaults() {
    const auto port_of = [](const std::string& listen) {
      const auto address = listen.substr(0, listen.find(' '));
      const auto colon = address.rfind(':');
      const bool port = colon != std::string::npos && !address.ends_with(']');
      const auto text = port ? address.substr(colon + 1) : address;
      return parse_number(text) ? text : address.starts_with("unix:") ? address : "80";
    };
    std::set<std::string> taken;
    for (const bool said : {true, false}) {
      for (auto& s : out_.servers) {
        if (s.says_default != said) continue;
        if (s.listens.empty()) s.is_default = taken.insert("80").second || s.is_default;
        for (const auto& l : s.listens)
          s.is_default = taken.insert(port_of(l)).second || s.is_default;
      }
    }
  }

  nginx_model out_;
};

}  // namespace

bool passes_on(const server& s) {
  return !s.answers_itself && passes_on(s.locations);
}

result<nginx_model> read_model(const nginx_tree& tree) {
  return model_reader().run(tree);
}

}  // namespace penstock::import
