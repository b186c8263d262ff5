// The store contract on a blocking client, with the test's time given to the scripts: what compares
// the scripts alone, without the client of the product, with the other stores.
#pragma once

#include <string>

#include "blocking_client.hpp"
#include "store/store.hpp"

namespace penstock::redis_test {

class script_store final : public store::store {
 public:
  explicit script_store(const std::string& socket_path) : client_(socket_path) {}

  penstock::store::progress check(penstock::store::batch& b, instant now) override;
  void record(std::span<const charge> charges, instant now) override;
  void refund(std::span<const charge> charges, instant charged_at, instant now) override;
  void reset(const counter& what, std::string_view key) override;

  [[nodiscard]] static std::string name_of(const counter& what, std::string_view key);
  [[nodiscard]] blocking_client& client() noexcept { return client_; }

  bool own_clock = false;  // true: Redis' TIME decides, as in the product

 private:
  blocking_client client_;
};

}  // namespace penstock::redis_test
