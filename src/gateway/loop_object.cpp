#include "gateway/loop_object.hpp"

#include <memory>
#include <utility>

#include <boost/asio/post.hpp>

namespace penstock::gateway {

void graveyard::bury(loop_object& dead) {
  dead.next_ = std::exchange(first_, &dead);
  if (std::exchange(sweeping_, true)) return;
  boost::asio::post(context_, [this] { sweep(); });
}

void graveyard::sweep() {
  sweeping_ = false;
  loop_object* dead = std::exchange(first_, nullptr);
  while (dead != nullptr) {
    const std::unique_ptr<loop_object> owned(std::exchange(dead, dead->next_));
  }
  if (alive_ == 0 && on_empty) std::exchange(on_empty, nullptr)();
}

}  // namespace penstock::gateway
