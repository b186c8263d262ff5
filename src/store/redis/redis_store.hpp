// The store that keeps its counters in Redis or Valkey: one instance, one watched by Sentinels, or
// a Cluster. One object per event loop; all calls and callbacks on that loop.
//
// A batch whose keys share a hash slot is one script call and atomic. Without Cluster that is every
// batch. With Cluster a batch over several slots is one parallel round trip, and a second one that
// takes back what was taken where another slot refused.
//
// A batch is answered within the deadline, by Redis or as `failed`. It fails at once, without
// suspension, while the breaker of a node that it needs is open. Before the first connection is
// made, and with Cluster before the first map of slots is known, it waits.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <penstock/result.hpp>

#include "base/cell.hpp"
#include "store/redis/link.hpp"
#include "store/redis/redis_url.hpp"
#include "store/redis/request.hpp"
#include "store/redis/sentinel_finder.hpp"
#include "store/redis/slots.hpp"
#include "store/store.hpp"

namespace penstock::store::redis {

// What the store has to say to operators; one per change of state, not one per request. Neither
// serving nor not_serving is said until the first attempt has ended.
struct store_event {
  enum class kind : std::uint8_t { serving, not_serving, remark };
  kind what = kind::remark;
  std::string node;  // which made the change: "host:port" or the path of the socket
  std::string text;  // without secrets; empty for serving
};

inline constexpr std::chrono::seconds notice_life{45};
inline constexpr std::size_t notice_max = std::size_t{32} << 10U;  // octets
inline constexpr std::size_t notices_max = 255;                    // that a reader takes
// Of all that a reader takes: requests wait behind it on the connection for a few milliseconds.
inline constexpr std::size_t board_max = std::size_t{512} << 10U;

struct redis_options {
  redis_url url;
  std::chrono::milliseconds deadline{20};
  std::string key_prefix = "penstock";
  int key_version = 1;     // counters of different versions never meet
  std::uint64_t seed = 1;  // of the jitter; different on every loop and process
  std::function<void(const store_event&)> on_event;
  bool decide_at_callers_time = false;  // tests only: `now` of the calls instead of Redis' clock
};

// Counted since the store was made.
struct redis_counts {
  std::uint64_t calls = 0;             // batches sent
  std::uint64_t timeouts = 0;          // batches failed by their deadline
  std::uint64_t disconnects = 0;       // batches lost with a connection
  std::uint64_t unusable_answers = 0;  // batches failed by what Redis said
  std::uint64_t skipped = 0;           // batches failed at once, breaker open
  std::uint64_t undone = 0;            // parts taken back because another slot refused
  std::uint64_t resent_scripts = 0;    // NOSCRIPT
  std::uint64_t redirections = 0;      // MOVED, ASK, TRYAGAIN
  std::uint64_t map_refreshes = 0;
  std::uint64_t losses_of_data = 0;  // connections to a restarted or other process
};

// The same as they are counted: written on the store's loop, read by anyone.
struct redis_cells {
  cell calls, timeouts, disconnects, unusable_answers, skipped, undone, resent_scripts,
      redirections, map_refreshes, losses_of_data;
};

class redis_store final : public store, private link_owner {
 public:
  // Errors: invalid_config (files of the URL). Begins to connect; needs no server to be there.
  static result<std::unique_ptr<redis_store>> make(boost::asio::io_context& context,
                                                   redis_options options);
  ~redis_store() override;
  redis_store(const redis_store&) = delete;
  redis_store& operator=(const redis_store&) = delete;

  progress check(batch& b, instant now) override;
  void abandon(batch& b) override;
  void record(std::span<const charge> charges, instant now) override;
  void refund(std::span<const charge> charges, instant charged_at, instant now) override;
  void reset(const counter& what, std::string_view key) override;

  // The board: notices that processes which share the store leave for each other, one each, each
  // good for `notice_life`. Only for what nothing depends on: no failure here counts against a
  // node. `who`: hexadecimal digits, another one for each process. `notice`: at most notice_max
  // octets.
  void post(std::string_view who, std::string_view notice);
  struct board {
    bool answered = false;  // false: no store, no right to read, or no sense in the answer
    bool whole = false;     // no notice was left out
    std::vector<std::string> notices;  // of all others; whoever may write to the store wrote them
  };
  // `then` is called once, later or at once; never after this object is gone.
  void read_board(std::string_view who, std::function<void(board)> then);

  // Whether every node serves, as far as is known: false is what readiness calls degraded.
  [[nodiscard]] bool serving() const noexcept;
  [[nodiscard]] redis_counts counts() const noexcept;
  // The same from any thread, but for losses of data on nodes that are still there.
  [[nodiscard]] const redis_cells& cells() const noexcept { return counts_; }

  // Asks every node that serves for its memory; memory_used() is the sum of what they last said,
  // 0 before anybody did.
  void ask_memory();
  [[nodiscard]] std::uint64_t memory_used() const noexcept;

 private:
  using clock = std::chrono::steady_clock;

  struct node {
    host_port at;
    std::shared_ptr<link> connection;
  };

  redis_store(boost::asio::io_context& context, redis_options options,
              std::shared_ptr<tls_context> tls);
  void start();

  // link_owner
  void locate(link& l) override;
  void answered(link& l, call& c, std::span<const net::resp::node> answer) override;
  void lost(link& l, call& c) override;
  void connected(link& l) override;
  void serving(link& l) override;
  void not_serving(link& l, std::string_view why) override;
  void remarked(link& l, std::string_view what) override;
  void topology_answered(link& l, std::span<const net::resp::node> answer, bool shards) override;
  std::uint64_t random() override;

  // Requests: redis_store.cpp.
  request& take_request(request_state state, batch* waiting);
  part& add_part(request& r, int slot);
  void give_back(request& r) noexcept;
  void enlist(request& r, clock::time_point now);
  void split(request& r, std::span<const charge> charges);
  std::span<const charge> charges_of(const part& p, std::span<const charge> all);
  void encode(part& p, const script& s, std::span<const charge> charges);
  bool launch(request& r, clock::time_point now);  // false: some node does not take calls
  bool can_send(const request& r);
  void send(request& r, clock::time_point now);
  void end_parking(bool send_them);
  void tell(std::span<const charge> charges, const script* s);
  void ask_board(const script& s, std::initializer_list<std::string_view> args,
                 std::function<void(std::span<const net::resp::node>)> then);
  std::optional<instant> given(instant now) const;
  void append_name(std::string& out, const counter& what, std::string_view key) const;
  void arm_deadline();
  void deadline_due();

  // Answers: redis_answers.cpp.
  void take_answer(part& p, std::span<const net::resp::node> answer);
  bool read_verdicts(part& p, std::span<const net::resp::node> answer);
  void part_done(part& p);
  void undo(request& r);
  void finish(request& r, bool failed);
  void fail(part& p, cell& reason);
  void answered_error(link& l, part& p, std::string_view text);
  void resend(part& p, link& to);
  void resend_soon(part& p);

  // Nodes: redis_nodes.cpp.
  link* route(int slot);
  link& node_at(const host_port& at);
  std::shared_ptr<link> make_link();
  void refresh_map();
  void apply_map(const slot_map& map);
  void tell_event(store_event::kind what, link& l, std::string_view text);
  void tell_if_serving(link& l);
  void tell_not_serving(link& l, std::string_view why);
  [[nodiscard]] bool is_needed(const link& l) const noexcept;
  // Whether the first map is still being fetched and no attempt has failed.
  [[nodiscard]] bool awaits_map() const noexcept {
    return is_cluster() && !map_known_ && told_ == told::nothing;
  }
  [[nodiscard]] bool is_cluster() const noexcept { return options_.url.kind == topology::cluster; }

  boost::asio::io_context& context_;
  redis_options options_;
  std::shared_ptr<tls_context> tls_;
  std::string name_head_;  // "penstock:1:{"
  std::unique_ptr<sentinel_finder> finder_;
  std::shared_ptr<redis_store*> self_ = std::make_shared<redis_store*>(this);  // null once gone

  std::vector<node> nodes_;  // standalone and Sentinel: one
  std::vector<host_port> seeds_;
  std::array<std::int16_t, slot_count> node_of_slot_{};  // cluster; -1: unknown
  bool map_known_ = false;                               // some node told a map
  bool map_whole_ = false;                               // every slot has a node
  bool map_asked_ = false;
  clock::time_point map_asked_at_{};
  boost::asio::steady_timer map_timer_;
  bool map_timer_armed_ = false;
  enum class told : std::uint8_t { nothing, serving, not_serving };
  told told_ = told::nothing;

  std::vector<std::unique_ptr<request>> all_requests_;
  request* free_ = nullptr;
  request* first_ = nullptr;  // earliest deadline
  request* last_ = nullptr;
  struct parked_request {
    request* what;
    std::uint64_t generation;  // of its first part; another one: it has ended
  };
  std::vector<parked_request> parked_;  // until the first map is known
  boost::asio::steady_timer deadline_timer_;
  bool deadline_armed_ = false;
  std::string args_;               // scratch
  std::string name_;               // scratch
  std::vector<charge> subset_;     // scratch
  std::vector<verdict> verdicts_;  // scratch
  instant now_{};                  // of the caller, for decide_at_callers_time
  redis_cells counts_;
  std::uint64_t random_state_;
};

}  // namespace penstock::store::redis
