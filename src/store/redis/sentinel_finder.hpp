// Asks Sentinels where the master is, one after the other until one knows; the one that answered is
// asked first the next time. One search at a time. Lives on one loop.
// Source: redis.io, "Guidelines for Redis clients with support for Redis Sentinel".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/resp.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/wire.hpp"

namespace penstock::store::redis {

class sentinel_finder final : private wire::user {
 public:
  sentinel_finder(boost::asio::io_context& context, std::vector<host_port> sentinels,
                  std::string master_name, credentials login, std::shared_ptr<tls_context> tls);
  ~sentinel_finder();
  sentinel_finder(const sentinel_finder&) = delete;
  sentinel_finder& operator=(const sentinel_finder&) = delete;

  // `found` gets the address, or a null pointer and why. A search under way is given up.
  void find(std::function<void(const host_port*, std::string_view why)> found);

 private:
  void opened() override;
  std::size_t received(std::string_view octets) override;
  void closed(std::string_view why) override;

  void ask_next();
  void next(std::string_view why);
  void finish(const host_port* at, std::string_view why);
  bool read_address(std::span<const net::resp::node> answer, host_port& at) const;

  boost::asio::io_context& context_;
  std::vector<host_port> sentinels_;
  std::string master_name_;
  credentials login_;
  std::shared_ptr<tls_context> tls_;
  boost::asio::steady_timer patience_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::uint64_t search_ = 0;  // counts attempts; a late timer knows its own
  std::size_t asked_ = 0;
  std::shared_ptr<wire> wire_;
  net::resp::reader reader_;
  bool login_answered_ = false;
  std::function<void(const host_port*, std::string_view)> found_;
};

}  // namespace penstock::store::redis
