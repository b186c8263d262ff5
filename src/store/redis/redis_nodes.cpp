// The nodes: where they are, which one serves a key, and what operators hear of them.
#include <algorithm>
#include <utility>

#include "store/redis/redis_store.hpp"

namespace penstock::store::redis {
namespace {

namespace resp = net::resp;

// At most this often is a node asked for the map of slots.
constexpr std::chrono::milliseconds refresh_pause{100};
// And at least this often while some node does not serve.
constexpr std::chrono::milliseconds refresh_in_trouble{500};

}  // namespace

std::shared_ptr<link> redis_store::make_link() {
  link_settings settings;
  settings.login = options_.url.login;
  settings.database = options_.url.database;
  settings.verify_master = options_.url.kind == topology::sentinel;
  settings.probe_key = name_head_ + "probe}";
  link_owner& owner = *this;
  return std::make_shared<link>(context_, owner, std::move(settings));
}

void redis_store::start() {
  const redis_url& url = options_.url;
  if (url.kind == topology::sentinel) {
    finder_ = std::make_unique<sentinel_finder>(context_, url.hosts, url.master_name,
                                                url.sentinel_login, tls_);
  }
  if (url.kind == topology::cluster) {
    seeds_ = url.hosts;
    for (const host_port& at : seeds_) node_at(at);
    return;
  }
  nodes_.push_back(
      {.at = url.hosts.empty() ? host_port{} : url.hosts.front(), .connection = make_link()});
  nodes_.front().connection->start();
}

void redis_store::locate(link& l) {
  if (finder_ != nullptr) {
    finder_->find([this, weak = l.weak_from_this()](const host_port* at, std::string_view why) {
      const auto to = weak.lock();
      if (to == nullptr) return;
      if (at == nullptr) {
        // The last known master may serve well while all Sentinels are down.
        if (nodes_.front().at.port != 0) {
          to->connect_to({.at = nodes_.front().at, .unix_path = {}, .tls = tls_});
        } else {
          to->not_located(why);
        }
        return;
      }
      nodes_.front().at = *at;
      to->connect_to({.at = *at, .unix_path = {}, .tls = tls_});
    });
    return;
  }
  for (const node& n : nodes_) {
    if (n.connection.get() == &l) {
      l.connect_to({.at = n.at, .unix_path = options_.url.unix_path, .tls = tls_});
      return;
    }
  }
}

link* redis_store::route(int slot) {
  if (!is_cluster()) return nodes_.front().connection.get();
  const std::int16_t index = node_of_slot_[static_cast<std::size_t>(slot)];
  return index < 0 ? nullptr : nodes_[static_cast<std::size_t>(index)].connection.get();
}

link& redis_store::node_at(const host_port& at) {
  for (node& n : nodes_) {
    if (n.at == at) return *n.connection;
  }
  nodes_.push_back({.at = at, .connection = make_link()});
  link& made = *nodes_.back().connection;
  made.start();
  return made;
}

// Any node that serves may be asked. While the map is not to be had, or a node is down, it is asked
// again: a failover shows in the map only.
void redis_store::refresh_map() {
  const auto now = clock::now();
  if (map_timer_armed_) return;
  if (map_asked_ && now - map_asked_at_ < refresh_pause) {
    map_timer_armed_ = true;
    map_timer_.expires_at(map_asked_at_ + refresh_pause);
    map_timer_.async_wait([self = self_](const boost::system::error_code& failed) {
      if (*self == nullptr || failed) return;
      (*self)->map_timer_armed_ = false;
      (*self)->refresh_map();
    });
    return;
  }
  map_asked_ = true;
  map_asked_at_ = now;
  ++counts_.map_refreshes;
  std::vector<link*> able;
  for (node& n : nodes_) {
    if (n.connection->serves()) able.push_back(n.connection.get());
  }
  if (!able.empty()) able[random() % able.size()]->ask_topology(true);
  const bool trouble = !map_whole_ || able.size() < nodes_.size();
  if (!trouble || map_timer_armed_) return;
  map_timer_armed_ = true;
  map_timer_.expires_after(refresh_in_trouble);
  map_timer_.async_wait([self = self_](const boost::system::error_code& failed) {
    if (*self == nullptr || failed) return;
    (*self)->map_timer_armed_ = false;
    (*self)->refresh_map();
  });
}

void redis_store::ask_memory() {
  for (node& n : nodes_) {
    if (n.connection->serves()) n.connection->ask_memory();
  }
}

std::uint64_t redis_store::memory_used() const noexcept {
  std::uint64_t sum = 0;
  for (const node& n : nodes_) sum += n.connection->memory_used;
  return sum;
}

void redis_store::topology_answered(link& l, std::span<const resp::node> answer, bool shards) {
  const bool unknown = answer.front().kind == resp::type::error;
  if (shards && unknown) {  // before Redis 7
    l.ask_topology(false);
    return;
  }
  const std::string& asked = l.target().at.host;
  const slot_map map =
      shards ? parse_shards(answer, asked, options_.url.tls.enabled) : parse_slots(answer, asked);
  if (map.ranges.empty()) {
    if (!map_known_) {
      tell_not_serving(l, unknown ? answer.front().text.substr(0, 120) : "knows no slots");
    }
    return;
  }
  apply_map(map);
  const auto alive = self_;
  if (!std::exchange(map_known_, true)) end_parking(true);
  if (*alive == nullptr) return;
  if (!map_whole_) tell_not_serving(l, "some slots have no node");
  tell_if_serving(l);
}

void redis_store::apply_map(const slot_map& map) {
  std::vector<std::int16_t> index_of;
  for (const host_port& at : map.masters) {
    const link& l = node_at(at);
    const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const node& n) { return n.connection.get() == &l; });
    index_of.push_back(static_cast<std::int16_t>(found - nodes_.begin()));
  }
  node_of_slot_.fill(-1);
  std::vector<bool> has_slots(nodes_.size(), false);
  for (const slot_range& range : map.ranges) {
    const std::int16_t index = index_of[range.node];
    if (!has_slots[static_cast<std::size_t>(index)]) {
      has_slots[static_cast<std::size_t>(index)] = true;
      nodes_[static_cast<std::size_t>(index)].connection->set_probe_key(
          key_in_slot(options_.key_prefix + ":probe", range.first));
    }
    for (int slot = range.first; slot <= range.last; ++slot) {
      node_of_slot_[static_cast<std::size_t>(slot)] = index;
    }
  }
  map_whole_ = std::find(node_of_slot_.begin(), node_of_slot_.end(), -1) == node_of_slot_.end();
  // Nodes without slots are left: replicas, and masters that are gone. Seeds stay, to ask them.
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const bool seed = std::find(seeds_.begin(), seeds_.end(), nodes_[i].at) != seeds_.end();
    if (has_slots[i] || seed) continue;
    counts_.losses_of_data.add(nodes_[i].connection->losses_of_data);
    nodes_[i].connection->close();
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::int16_t& index : node_of_slot_) {
      if (index > static_cast<std::int16_t>(i)) --index;
    }
  }
}

bool redis_store::serving() const noexcept {
  if (!is_cluster()) return nodes_.front().connection->serves();
  if (!map_whole_) return false;
  return std::all_of(node_of_slot_.begin(), node_of_slot_.end(), [this](std::int16_t index) {
    return nodes_[static_cast<std::size_t>(index)].connection->serves();
  });
}

redis_counts redis_store::counts() const noexcept {
  redis_counts sum{.calls = counts_.calls.get(),
                   .timeouts = counts_.timeouts.get(),
                   .disconnects = counts_.disconnects.get(),
                   .unusable_answers = counts_.unusable_answers.get(),
                   .skipped = counts_.skipped.get(),
                   .undone = counts_.undone.get(),
                   .resent_scripts = counts_.resent_scripts.get(),
                   .redirections = counts_.redirections.get(),
                   .map_refreshes = counts_.map_refreshes.get(),
                   .losses_of_data = counts_.losses_of_data.get()};
  for (const node& n : nodes_) sum.losses_of_data += n.connection->losses_of_data;
  return sum;
}

void redis_store::tell_event(store_event::kind what, link& l, std::string_view text) {
  if (!options_.on_event) return;
  const wire_target& at = l.target();
  store_event e;
  e.what = what;
  e.node = !at.unix_path.empty() ? at.unix_path
           : at.at.port != 0     ? describe(at.at)
                                 : describe(options_.url);
  e.text = text;
  options_.on_event(e);
}

// Whether the store does not serve when this node does not: with Cluster one that has slots, or,
// before any map, the last one that may still tell it.
bool redis_store::is_needed(const link& l) const noexcept {
  if (!is_cluster()) return true;
  if (!map_known_) {
    return std::none_of(nodes_.begin(), nodes_.end(),
                        [](const node& n) { return n.connection->takes_calls(); });
  }
  return std::any_of(node_of_slot_.begin(), node_of_slot_.end(), [&](std::int16_t index) {
    return index >= 0 && nodes_[static_cast<std::size_t>(index)].connection.get() == &l;
  });
}

void redis_store::tell_if_serving(link& l) {
  if (told_ == told::serving || !serving()) return;
  told_ = told::serving;
  tell_event(store_event::kind::serving, l, {});
}

void redis_store::tell_not_serving(link& l, std::string_view why) {
  if (told_ == told::not_serving) return;
  told_ = told::not_serving;
  tell_event(store_event::kind::not_serving, l, why);
  end_parking(false);
}

// Before it serves: a lost connection that was made again at once is no change of its own, but may
// be what another node's change has waited for.
void redis_store::connected(link& l) {
  if (is_cluster()) refresh_map();
  tell_if_serving(l);
}

void redis_store::serving(link& l) {
  tell_if_serving(l);
}

void redis_store::not_serving(link& l, std::string_view why) {
  if (is_cluster()) refresh_map();
  if (is_needed(l)) tell_not_serving(l, why);
}

void redis_store::remarked(link& l, std::string_view what) {
  tell_event(store_event::kind::remark, l, what);
}

}  // namespace penstock::store::redis
