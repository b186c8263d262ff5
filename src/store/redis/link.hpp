// The connection to one Redis node with everything that keeps it alive: login, pipelining, the
// breaker, probes, reconnects with growing pauses. What the answers mean to a request is the
// owner's. Lives on one loop.
//
// A command is written once. When the connection is lost, commands that were written are lost to
// their callers (they may have been executed); those that were not wait for the next connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/resp.hpp"
#include "store/redis/breaker.hpp"
#include "store/redis/call.hpp"
#include "store/redis/ring.hpp"
#include "store/redis/wire.hpp"

namespace penstock::store::redis {

class link;

class link_owner {
 public:
  // Where the node is now; answer with link::connect_to or link::not_located, now or later.
  virtual void locate(link& l) = 0;
  virtual void answered(link& l, call& c, std::span<const net::resp::node> answer) = 0;
  virtual void lost(link& l, call& c) = 0;
  // A connection is ready for calls.
  virtual void connected(link& l) = 0;
  // It serves (again), or it does not any more because of `why`: each once per change.
  virtual void serving(link& l) = 0;
  virtual void not_serving(link& l, std::string_view why) = 0;
  // Worth a line in the log, at most one per connection.
  virtual void remarked(link& l, std::string_view what) = 0;
  // The node's answer to CLUSTER SHARDS or CLUSTER SLOTS, as asked for by ask_topology().
  virtual void topology_answered(link& l, std::span<const net::resp::node> answer, bool shards) = 0;
  [[nodiscard]] virtual std::uint64_t random() = 0;

 protected:
  ~link_owner() = default;
};

struct link_settings {
  credentials login;
  int database = 0;
  bool verify_master = false;  // ask ROLE and accept a master only
  std::string probe_key;       // a key that the node owns and may write
};

class link final : public std::enable_shared_from_this<link>, private wire::user {
 public:
  using clock = std::chrono::steady_clock;

  link(boost::asio::io_context& context, link_owner& owner, link_settings settings);
  ~link();
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void start();
  // For good: nothing is reported any more.
  void close();

  // Answers to locate().
  void connect_to(const wire_target& target);
  void not_located(std::string_view why);

  // Whether it makes sense to send now: the breaker is closed and the queue is bounded.
  [[nodiscard]] bool takes_calls() const noexcept;
  [[nodiscard]] bool serves() const noexcept { return breaker_.closed() && state_ == state::ready; }

  // Sends `c`, or keeps it until connected. `c` must stay in place until answered, lost, or its
  // generation has changed.
  void send(call& c, clock::time_point now);
  void ask_topology(bool shards);
  void ask_memory();

  // What a request saw of the node.
  void succeeded(clock::time_point now) { breaker_.succeeded(now); }
  void failed(clock::time_point now, std::string_view why);
  // The node is not what it was (a replica now): connects anew once what is under way is answered.
  void replace(std::string_view why);
  // Called now and then while requests wait: drops a connection that has not answered for long.
  void check_stale(clock::time_point now);

  // Of the connection that is or was: what the node said about itself.
  [[nodiscard]] const std::string& run_id() const noexcept { return run_id_; }
  [[nodiscard]] const wire_target& target() const noexcept { return target_; }
  void set_probe_key(std::string key) { settings_.probe_key = std::move(key); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return pending_.size(); }

  std::uint64_t losses_of_data = 0;  // connections to a process with another run id than before
  std::uint64_t memory_used = 0;     // bytes, as the node last said

 private:
  enum class state : std::uint8_t { idle, locating, connecting, greeting, ready, waiting, closed };
  enum class asked : std::uint8_t {
    call,
    ignored,
    auth,
    select,
    role,
    info_server,
    info_memory,
    memory,
    script_load,
    probe,
    shards,
    slots
  };
  struct entry {
    asked what = asked::ignored;
    call* of = nullptr;
    std::uint64_t generation = 0;
    clock::time_point at{};
  };

  void opened() override;
  std::size_t received(std::string_view octets) override;
  void closed(std::string_view why) override;

  void locate();
  void greet();
  void greeted();
  void write(call& c, clock::time_point now);
  void command(asked what, std::initializer_list<std::string_view> words);
  void handle(const entry& e, std::span<const net::resp::node> answer);
  void handle_greeting(asked what, std::span<const net::resp::node> answer);
  void read_info(std::string_view text, bool memory);
  void read_memory(std::string_view text);
  void probe();
  void probed(std::span<const net::resp::node> answer);
  void lose(std::string_view why);
  void trip(std::string_view why);
  void fail_waiting();
  void tell_serving();
  void tell_not_serving(std::string_view why);
  void rest();
  void at(clock::time_point when, void (link::*then)());
  void greeting_late();
  void probe_late();

  boost::asio::io_context& context_;
  link_owner* owner_;
  link_settings settings_;
  boost::asio::steady_timer timer_;
  std::uint64_t timer_generation_ = 0;
  state state_ = state::idle;
  breaker breaker_;
  std::shared_ptr<wire> wire_;
  wire_target target_;
  net::resp::reader reader_;
  ring<entry> pending_;        // written, in the order of their answers
  ring<entry> unsent_;         // calls that wait for a connection
  std::size_t greetings_ = 0;  // answers of the greeting still to come
  enum class told : std::uint8_t { nothing, serving, not_serving };
  told told_ = told::nothing;
  bool replacing_ = false;
  clock::time_point ready_since_{};
  std::string run_id_;
  std::string why_;
};

}  // namespace penstock::store::redis
