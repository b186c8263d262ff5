#include "store/redis/sentinel_finder.hpp"

#include <algorithm>
#include <charconv>

namespace penstock::store::redis {
namespace {

namespace resp = net::resp;
constexpr std::chrono::milliseconds patience_with_one{200};

}  // namespace

sentinel_finder::sentinel_finder(boost::asio::io_context& context, std::vector<host_port> sentinels,
                                 std::string master_name, credentials login,
                                 std::shared_ptr<tls_context> tls)
    : context_(context),
      sentinels_(std::move(sentinels)),
      master_name_(std::move(master_name)),
      login_(std::move(login)),
      tls_(std::move(tls)),
      patience_(context) {}

sentinel_finder::~sentinel_finder() {
  *alive_ = false;
  if (wire_ != nullptr) wire_->drop();
}

void sentinel_finder::find(std::function<void(const host_port*, std::string_view)> found) {
  found_ = std::move(found);
  asked_ = 0;
  ask_next();
}

void sentinel_finder::ask_next() {
  if (wire_ != nullptr) wire_->drop();
  reader_.reset();
  login_answered_ = login_.password.empty();
  wire_ = wire::open(context_, *this, {.at = sentinels_[asked_], .unix_path = {}, .tls = tls_});
  const std::uint64_t search = ++search_;
  patience_.expires_after(patience_with_one);
  patience_.async_wait([this, alive = alive_, search](const boost::system::error_code&) {
    if (*alive && search == search_ && found_) next("no answer");
  });
}

void sentinel_finder::opened() {
  std::string& out = wire_->out();
  if (!login_.password.empty()) {
    resp::append_array(out, login_.user.empty() ? 2 : 3);
    resp::append_bulk(out, std::string_view("AUTH"));
    if (!login_.user.empty()) resp::append_bulk(out, login_.user);
    resp::append_bulk(out, login_.password);
  }
  resp::append_array(out, 3);
  resp::append_bulk(out, std::string_view("SENTINEL"));
  resp::append_bulk(out, std::string_view("get-master-addr-by-name"));
  resp::append_bulk(out, master_name_);
  wire_->flush_soon();
}

bool sentinel_finder::read_address(std::span<const resp::node> answer, host_port& at) const {
  if (answer.size() != 3 || answer.front().kind != resp::type::array) return false;
  const std::string_view port = answer[2].text;
  at.host = answer[1].text;
  const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), at.port);
  return problem == std::errc{} && end == port.data() + port.size() && at.port != 0 &&
         !at.host.empty();
}

std::size_t sentinel_finder::received(std::string_view octets) {
  std::size_t used = 0;
  while (found_) {
    const resp::read_status status = reader_.read(octets.substr(used));
    if (status == resp::read_status::need_more) return used;
    if (status == resp::read_status::bad) {
      next(reader_.problem());
      return used;
    }
    const auto answer = reader_.nodes();
    if (answer.front().kind == resp::type::error) {
      next(answer.front().text.substr(0, 120));
      return used;
    }
    if (login_answered_) {
      host_port at;
      if (read_address(answer, at)) {
        std::rotate(sentinels_.begin(), sentinels_.begin() + static_cast<std::ptrdiff_t>(asked_),
                    sentinels_.begin() + static_cast<std::ptrdiff_t>(asked_) + 1);
        finish(&at, {});
      } else {
        next("the master's name is not known");
      }
      return octets.size();
    }
    login_answered_ = true;
    used += reader_.consumed();
    reader_.reset();
  }
  return used;
}

void sentinel_finder::closed(std::string_view why) {
  next(why);
}

void sentinel_finder::next(std::string_view why) {
  if (++asked_ < sentinels_.size()) {
    ask_next();
  } else {
    finish(nullptr, "no Sentinel knows the master; the last one: " + std::string(why));
  }
}

void sentinel_finder::finish(const host_port* at, std::string_view why) {
  ++search_;
  if (wire_ != nullptr) wire_->drop();
  wire_.reset();
  const auto found = std::move(found_);
  found_ = nullptr;
  if (found) found(at, why);
}

}  // namespace penstock::store::redis
