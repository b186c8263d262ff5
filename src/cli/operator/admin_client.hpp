// Speaks to the admin API of a running penstock: finds its address and token, sends one request for
// each call, and turns whatever does not work into a sentence that names the place and the remedy.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/result.hpp>

#include "cli/operator/http_call.hpp"

namespace penstock::cli {

// As given on the command line; empty: not given.
struct admin_flags {
  std::string address;
  std::string token_file;
  std::string deadline = "5s";
  bool plaintext = false;  // an address that is not this machine is allowed
};

// Value of an environment variable; nullopt: unset.
using environment = std::function<std::optional<std::string>(const char* name)>;

struct admin_place {
  config::listen_address address;
  std::string token;  // empty: none
  call_options options;
};

// Flags, then PENSTOCK_ADMIN, PENSTOCK_ADMIN_TOKEN_FILE and PENSTOCK_ADMIN_TOKEN, then
// 127.0.0.1:7070. An address for listening everywhere means this machine here.
// Errors: invalid_argument (what is given cannot be used; the message never holds the token).
[[nodiscard]] result<admin_place> find_admin(const admin_flags& flags, const environment& read);

class admin_client {
 public:
  explicit admin_client(admin_place place) : place_(std::move(place)) {}

  using parameters = std::vector<std::pair<std::string_view, std::string_view>>;
  // `path` below /api/v1/; parameters with an empty value are left out. The result is the text of
  // one JSON object. Errors: invalid_argument (the daemon says that the request is wrong, or names
  // what does not exist), io (not reached, no access), store_unavailable.
  [[nodiscard]] result<std::string> get(std::string_view path, const parameters& query = {}) const;
  // The same for a change; `members` of its body likewise.
  [[nodiscard]] result<std::string> post(std::string_view path, const parameters& members) const;

  // "127.0.0.1:7070".
  [[nodiscard]] std::string name() const { return config::to_text(place_.address); }

 private:
  [[nodiscard]] result<std::string> ask(std::string_view method, const std::string& target,
                                        std::string_view body) const;
  [[nodiscard]] error refused(const http_reply& reply) const;

  admin_place place_;
};

// 2 for what the command line could do better, 1 for everything else.
[[nodiscard]] int exit_code_of(const error& e) noexcept;

}  // namespace penstock::cli
