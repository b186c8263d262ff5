// A private cluster of three masters with one replica each. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "blocking_client.hpp"
#include "redis_server.hpp"

namespace penstock::redis_test {

class cluster {
 public:
  cluster();  // waits until every node knows all slots and replicas follow

  redis_server& node(std::size_t i) {
    return *nodes_[i];
  }  // 0..2 begin as masters, 3..5 follow them
  blocking_client client(std::size_t i) { return blocking_client(nodes_[i]->socket_path()); }
  [[nodiscard]] std::string url() const;
  [[nodiscard]] const std::string& id(std::size_t i) const { return ids_[i]; }
  [[nodiscard]] bool whole();  // every living node sees state ok

  // Moves one slot with its keys; the map changes at the end. `between` is called while it is open.
  void move_slot(int slot, std::size_t from, std::size_t to, const std::function<void()>& between);

 private:
  std::vector<std::unique_ptr<redis_server>> nodes_;
  std::vector<int> bus_ports_;
  std::vector<std::string> ids_;
};

}  // namespace penstock::redis_test
