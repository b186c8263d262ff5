// What a face asks: may this request pass? One exchange_context lives with each request of a
// connection and is reused; the decider fills it in. Used from one event loop at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>

#include "policy/policy.hpp"
#include "store/store.hpp"

namespace penstock::service {

enum class answer : std::uint8_t { ready, pending };

class decider;

struct exchange_context {
  exchange_context() = default;
  exchange_context(const exchange_context&) = delete;  // the store keeps its address while pending
  exchange_context& operator=(const exchange_context&) = delete;

  // Set by the face before decide(); every view in it stays valid until the exchange is over.
  policy::request_view request;
  store::intent why = store::intent::take;  // peek: decided like any other, but nothing is taken,
                                            // counted or remembered
  void (*on_decided)(exchange_context&) = nullptr;  // called once, only after answer::pending
  void* owner = nullptr;                            // the face's own

  // Set by a face that forwards, before completed(): when the request was last sent on, and whether
  // the status is the upstream's own.
  instant forwarded_at{};
  bool upstream_answered = false;

  // Filled by the decider.
  policy::plan plan;
  policy::decision decision;

  // The decider's own; faces leave it alone.
  struct owned_batch : store::batch {
    exchange_context* owner = nullptr;
  };
  std::shared_ptr<const policy::compiled_policy> policy;
  policy::plan local_plan;  // the charges that this process decides while the store is away
  std::vector<verdict> verdicts;
  std::vector<charge> late;  // given back or taken after the decision
  owned_batch batch;
  decider* decided_by = nullptr;
  std::span<const std::uint32_t> slots;  // the limits' places in the metrics; the policy's lifetime
  std::uint32_t unasked = policy::decision::no_limit;  // the limit that stands for a store failure
  instant asked_at{};
  bool waiting = false;  // for the store
  bool banned = false;
};

class decider {
 public:
  virtual ~decider() = default;

  // ready: plan and decision are filled. pending: on_decided is called later on the same loop.
  virtual answer decide(exchange_context& x, instant now) = 0;

  // The client left while the decision was pending or while it waited its delay: gives a queue's
  // place back where nobody is scheduled behind it. on_decided is not called any more.
  virtual void cancel(exchange_context& x, instant now) = 0;

  // The response's status is known; limits that count failures are charged by it. Called once for
  // each request that was forwarded.
  virtual void completed(exchange_context& x, int status, instant now) = 0;

  // Fields that a request must not carry on to the upstream, because only a trusted peer may set
  // them (identity.user); lower case. Valid until the next reload is seen by this loop.
  [[nodiscard]] virtual std::span<const std::string> untrusted_fields() const noexcept = 0;
};

}  // namespace penstock::service
