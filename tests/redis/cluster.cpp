#include "cluster.hpp"

#include <functional>
#include <stdexcept>

#include <unistd.h>

namespace penstock::redis_test {
namespace {

constexpr std::size_t masters = 3;

void wait_for(const char* what, const std::function<bool()>& done) {
  for (int i = 0; i < 3'000; ++i) {
    if (done()) return;
    ::usleep(10'000);
  }
  throw std::runtime_error(std::string("cluster: ") + what);
}

void must(blocking_client& c, const std::vector<std::string_view>& words) {
  const std::string answer = c.text(words);
  if (answer != "OK") throw std::runtime_error("cluster: " + std::string(words[1]) + ": " + answer);
}

}  // namespace

cluster::cluster() {
  for (std::size_t i = 0; i < 2 * masters; ++i) {
    bus_ports_.push_back(free_port());
    nodes_.push_back(std::make_unique<redis_server>(
        std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
                                 "--cluster-require-full-coverage", "no", "--cluster-port",
                                 std::to_string(bus_ports_.back()), "--repl-diskless-sync-delay",
                                 "0"},
        free_port()));
    ids_.push_back(client(i).text({"CLUSTER", "MYID"}));
  }
  const int edges[] = {0, 5461, 10923, 16384};
  for (std::size_t i = 0; i < masters; ++i) {
    blocking_client c = client(i);
    must(c,
         {"CLUSTER", "ADDSLOTSRANGE", std::to_string(edges[i]), std::to_string(edges[i + 1] - 1)});
    must(c, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    blocking_client c = client(0);
    must(c, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[i]->port()),
             std::to_string(bus_ports_[i])});
  }
  wait_for("nodes meet", [&] {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      blocking_client c = client(i);
      if (c.text({"CLUSTER", "INFO"}).find("cluster_known_nodes:6") == std::string::npos)
        return false;
    }
    return true;
  });
  for (std::size_t i = masters; i < nodes_.size(); ++i) {
    wait_for("replicas know their masters", [&] {
      blocking_client c = client(i);
      return c.text({"CLUSTER", "REPLICATE", ids_[i - masters]}) == "OK";
    });
  }
  wait_for("state is ok", [&] {
    if (!whole()) return false;
    for (std::size_t i = masters; i < nodes_.size(); ++i) {
      blocking_client c = client(i);
      if (c.text({"INFO", "replication"}).find("master_link_status:up") == std::string::npos)
        return false;
    }
    return true;
  });
}

bool cluster::whole() {
  for (auto& n : nodes_) {
    if (n->pid() <= 0) continue;
    blocking_client c(n->socket_path());
    const std::string info = c.text({"CLUSTER", "INFO"});
    if (info.find("cluster_state:ok") == std::string::npos ||
        info.find("cluster_slots_ok:16384") == std::string::npos) {
      return false;
    }
  }
  return true;
}

std::string cluster::url() const {
  std::string hosts;
  for (std::size_t i = 0; i < 2; ++i) {
    hosts += (i > 0 ? "," : "") + ("127.0.0.1:" + std::to_string(nodes_[i]->port()));
  }
  return "redis+cluster://" + hosts;
}

void cluster::move_slot(int slot, std::size_t from, std::size_t to,
                        const std::function<void()>& between) {
  blocking_client source = client(from);
  blocking_client target = client(to);
  const std::string number = std::to_string(slot);
  must(target, {"CLUSTER", "SETSLOT", number, "IMPORTING", ids_[from]});
  must(source, {"CLUSTER", "SETSLOT", number, "MIGRATING", ids_[to]});
  between();
  while (true) {
    std::vector<std::string> keys;
    for (const auto& n : source.call({"CLUSTER", "GETKEYSINSLOT", number, "1"})) {
      if (n.kind == net::resp::type::bulk_string) keys.emplace_back(n.text);
    }
    if (keys.empty()) break;
    const std::string port = std::to_string(nodes_[to]->port());
    const std::string answer = source.text({"MIGRATE", "127.0.0.1", port, keys[0], "0", "5000"});
    if (answer != "OK" && answer != "NOKEY")
      throw std::runtime_error("cluster: MIGRATE: " + answer);
    between();
  }
  must(target, {"CLUSTER", "SETSLOT", number, "NODE", ids_[to]});
  must(source, {"CLUSTER", "SETSLOT", number, "NODE", ids_[to]});
  between();
}

}  // namespace penstock::redis_test
