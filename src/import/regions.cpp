#include "import/regions.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace penstock::import {
namespace {

constexpr std::size_t most_regions = 1000;  // they are compared in pairs

// A location, or the server itself for requests that no location takes.
struct region {
  path_shape shape;
  location_kind kind = location_kind::prefix;
  bool slash = true;                 // a prefix that ends with a slash
  const location* within = nullptr;  // nested in it
  const level* rules = nullptr;
  bool limited = true;           // false: answered before any limit
  std::set<std::string> limits;  // identities
  std::string differs;
  place at;
  std::string text;
  bool dropped = false;    // another location takes all its requests
  std::size_t parent = 0;  // the next wider region; itself: none
};

std::string identity_of(const limit_use& use, int status, bool dry_run) {
  return std::to_string(use.zone) + " " + std::to_string(use.burst) + " " +
         (use.nodelay ? "nodelay" : std::to_string(std::min(use.delay, use.burst))) + " " +
         std::to_string(status) + (dry_run ? " dry" : "");
}

bool is_regex(const region& r) {
  return r.kind == location_kind::regex || r.kind == location_kind::regex_nocase;
}

auto specificity(const region& r) {
  const auto literals =
      r.shape.segments.size() -
      static_cast<std::size_t>(std::count(r.shape.segments.begin(), r.shape.segments.end(), "*"));
  return std::tuple(r.shape.segments.size(), !r.shape.below, literals, is_regex(r));
}

class placer {
 public:
  placer(const server& of, std::vector<remark>& remarks) : server_(of), remarks_(remarks) {}

  std::vector<placed_limit> run() {
    add({.shape = {{}, true}, .rules = &server_.rules, .at = server_.at, .text = "server"});
    collect(server_.locations, nullptr);
    separate_equal_shapes();
    drop_taken();
    for (auto& r : regions_) r.dropped = r.dropped || is_shadowed(r);
    std::erase_if(regions_, [](const region& r) { return r.dropped; });
    find_parents();
    note_overlaps();
    note_unplaced();
    return place();
  }

 private:
  void add(region r) {
    if (r.limited) {
      for (const auto& use : r.rules->uses)
        r.limits.insert(identity_of(use, r.rules->status, r.rules->dry_run));
    }
    regions_.push_back(std::move(r));
  }

  void collect(const std::vector<location>& from, const location* within) {
    for (const auto& l : from) {
      if (l.kind == location_kind::named) {
        if (l.rules.own_uses)
          leave_out(
              l,
              "nginx comes here by an internal redirect, after the limits of the first location");
        continue;
      }
      if (l.internal) continue;
      if (l.answers_itself && l.rules.own_uses)
        leave_out(l, "`return` answers before any limit, so nginx never limits here");
      const bool regex = l.kind == location_kind::regex || l.kind == location_kind::regex_nocase;
      auto paths = regex ? translate_regex(l.pattern, l.kind == location_kind::regex_nocase)
                         : translate_path(l.pattern, l.kind == location_kind::exact);
      region r{.kind = l.kind,
               .slash = l.pattern.ends_with('/'),
               .within = within,
               .rules = &l.rules,
               .limited = !l.answers_itself,
               .differs = paths.differs,
               .at = l.at,
               .text = l.text};
      if (regions_.size() + paths.shapes.size() > most_regions) paths.shapes.clear();
      for (auto& shape : paths.shapes) {
        r.shape = std::move(shape);
        add(r);
      }
      if (paths.shapes.empty()) {
        add(r);
        unplaced_.push_back(std::move(regions_.back()));
        regions_.pop_back();
      }
      collect(l.nested, &l);
    }
  }

  void leave_out(const location& l, const char* why) {
    for (const auto& use : l.rules.uses)
      remarks_.push_back({remark_kind::left_out, use.at, use.text, why});
  }

  // `location /` takes what no other location takes; of /api and /api/ the longer takes what is
  // below. Otherwise nginx refuses equal locations, and of equal expressions the first wins.
  void separate_equal_shapes() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      for (std::size_t k = i + 1; k < regions_.size(); ++k) {
        region& a = regions_[i];
        region& b = regions_[k];
        if (!(a.shape == b.shape) || a.dropped || b.dropped || is_regex(a) != is_regex(b)) continue;
        if (i == 0) {
          a.dropped = true;
        } else if (!is_regex(a) && a.slash != b.slash) {
          (a.slash ? b : a).shape.below = false;
        } else {
          b.dropped = true;
        }
      }
    }
  }

  // `location = /api` takes what /api/ leaves to /api.
  void drop_taken() {
    for (auto& r : regions_) {
      if (r.dropped || r.kind == location_kind::exact || r.shape.below || is_regex(r)) continue;
      r.dropped = std::any_of(regions_.begin(), regions_.end(), [&](const region& other) {
        return other.kind == location_kind::exact && !other.dropped && other.shape == r.shape;
      });
    }
  }

  // Whether requests of `r` all go to another location.
  [[nodiscard]] bool is_shadowed(const region& r) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const region& other) {
      if (&other == &r || other.dropped || other.within != r.within ||
          !covers(other.shape, r.shape))
        return false;
      if (r.kind == location_kind::prefix && &r != &regions_.front())
        return is_regex(other) && other.differs.empty();
      if (!is_regex(r)) return false;
      if (is_regex(other)) return &other < &r && other.differs.empty();
      return other.kind == location_kind::final_prefix && !has_between(other, r);
    });
  }

  // A longer plain prefix sends the request to the expressions after all.
  [[nodiscard]] bool has_between(const region& final_prefix, const region& r) const {
    return std::any_of(regions_.begin(), regions_.end(), [&](const region& p) {
      return p.kind == location_kind::prefix &&
             p.shape.segments.size() > final_prefix.shape.segments.size() &&
             covers(final_prefix.shape, p.shape) && covers(p.shape, r.shape);
    });
  }

  void find_parents() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      regions_[i].parent = i;
      for (std::size_t k = 0; k < regions_.size(); ++k) {
        const auto& wider = regions_[k];
        if (k == i || !covers(wider.shape, regions_[i].shape)) continue;
        if (wider.shape == regions_[i].shape && specificity(wider) >= specificity(regions_[i]))
          continue;
        const auto best = regions_[i].parent;
        if (best == i || specificity(wider) > specificity(regions_[best])) regions_[i].parent = k;
      }
    }
  }

  // Two locations share requests, and neither holds the other.
  void note_overlaps() {
    for (auto& a : regions_) {
      for (const auto& b : regions_) {
        if (&a == &b || a.limits == b.limits || a.limits.empty() || !meet(a.shape, b.shape) ||
            covers(a.shape, b.shape) || covers(b.shape, a.shape)) {
          continue;
        }
        if (!a.differs.empty()) a.differs += "; ";
        a.differs += "requests that " + shown(b.text) + " could take too are counted here as well";
        break;
      }
    }
  }

  void note_unplaced() {
    for (const auto& u : unplaced_) {
      const bool same = std::all_of(regions_.begin(), regions_.end(),
                                    [&](const region& r) { return r.limits == u.limits; });
      if (same) continue;
      const std::string what =
          u.limits.empty() ? "nginx does not limit it" : "its own limits are not carried over";
      remarks_.push_back({remark_kind::left_out, u.at, u.text,
                          "no path pattern can say it; " + what +
                              ", here its requests count as those of the location around it"});
    }
  }

  std::vector<placed_limit> place() {
    std::vector<placed_limit> out;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const region& r = regions_[i];
      if (!r.limited) continue;
      for (const auto& use : r.rules->uses) {
        placed_limit l{
            .use = &use, .status = r.rules->status, .dry_run = r.rules->dry_run, .where = r.shape};
        const auto id = l.identity();
        if (r.parent != i && regions_[r.parent].limits.contains(id))
          continue;  // part of the wider one
        if (!r.differs.empty()) l.differs.push_back(r.differs);
        if (r.rules->dry_run && r.rules->uses.size() > 1)
          l.differs.emplace_back(
              "in a dry run nginx charges no zone when one would reject; here each counts alone");
        except(i, id, l);
        out.push_back(std::move(l));
      }
    }
    return out;
  }

  // The regions below that do not have the limit.
  void except(std::size_t at, const std::string& id, placed_limit& l) const {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if (i == at || regions_[i].parent != at) continue;
      if (regions_[i].limits.contains(id)) {
        except(i, id, l);
        continue;
      }
      l.except.push_back(regions_[i].shape);
      if (regions_[i].limits.empty() && !regions_[i].differs.empty())
        l.differs.push_back("except " + regions_[i].shape.text() + ": " + regions_[i].differs);
    }
  }

  const server& server_;
  std::vector<remark>& remarks_;
  std::vector<region> regions_;   // the first is the server
  std::vector<region> unplaced_;  // without a shape
};

}  // namespace

std::string placed_limit::identity() const {
  return identity_of(*use, status, dry_run);
}

std::vector<placed_limit> place_limits(const server& of, std::vector<remark>& remarks) {
  return placer(of, remarks).run();
}

}  // namespace penstock::import
