// One connection to a Redis or Sentinel process: resolves, connects, speaks TLS if asked, reads
// into one growing buffer and writes what was appended once per turn of the loop. Knows nothing of
// what the octets mean. Ends once: after `closed`, or after drop(), its user hears no more of it.
// Lives on one loop; kept alive by its own pending operations.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "net/stream.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/tls.hpp"

namespace penstock::store::redis {

struct wire_target {
  host_port at;
  std::string unix_path;               // not empty: instead of `at`
  std::shared_ptr<tls_context> tls{};  // null: plain
};

class wire : public std::enable_shared_from_this<wire> {
 public:
  class user {
   public:
    virtual void opened() = 0;
    // `octets`: all that was received and not consumed yet. Returns how many are consumed.
    virtual std::size_t received(std::string_view octets) = 0;
    virtual void closed(std::string_view why) = 0;

   protected:
    ~user() = default;
  };

  // The user must call drop() before it goes.
  static std::shared_ptr<wire> open(boost::asio::io_context& context, user& to,
                                    const wire_target& target);
  explicit wire(boost::asio::io_context& context, user& to, wire_target target);
  wire(const wire&) = delete;
  wire& operator=(const wire&) = delete;

  // Append here, then flush_soon(). Before `opened` it is kept.
  [[nodiscard]] std::string& out() noexcept { return out_; }
  void flush_soon();
  // Octets that wait to be sent.
  [[nodiscard]] std::size_t backlog() const noexcept {
    return out_.size() + sending_.size() - sent_;
  }

  void drop() noexcept;

 private:
  void start();
  void resolve();
  void connect_next();
  void connected();
  void read();
  void got(std::size_t octets);
  void deliver();
  void flush();
  void write();
  void fail(std::string_view why);

  boost::asio::io_context& context_;
  user* user_;
  wire_target target_;
  net::stream stream_;
  boost::asio::ip::tcp::resolver resolver_;
  std::vector<boost::asio::generic::stream_protocol::endpoint> endpoints_;
  std::size_t next_endpoint_ = 0;
  std::unique_ptr<tls_session> tls_;
  bool open_ = false;
  bool flush_posted_ = false;
  bool waiting_writable_ = false;
  std::string out_;      // not yet handed to the socket or to TLS
  std::string sending_;  // as the network gets it
  std::size_t sent_ = 0;
  std::vector<char> in_;  // plain: also the octets to consume, from consumed_ to filled_
  std::size_t consumed_ = 0;
  std::size_t filled_ = 0;
  std::string plain_;  // TLS: the octets to consume
};

}  // namespace penstock::store::redis
