// Both ends of TLS sessions over a socket pair: names, trust, resumption across a reload, short
// writes.
#include "net/tls.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/tls_test_support.hpp"

namespace penstock::net {
namespace {

using status = tls_session::status;

class Tls : public testing::Test {
 protected:
  Tls() {
    std::string name = std::filesystem::temp_directory_path() / "penstock-tls-XXXXXX";
    folder = ::mkdtemp(name.data());
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  }
  ~Tls() override {
    for (const int end : ends) ::close(end);
    std::filesystem::remove_all(folder);
  }

  certificate_files make(const std::string& name) const { return make_certificate(folder, name); }

  static bool shake(tls_session& a, tls_session& b) {
    auto of_a = status::want_read;
    auto of_b = status::want_read;
    for (int i = 0; i < 20 && (of_a != status::done || of_b != status::done); ++i) {
      if (of_a != status::done) of_a = a.handshake();
      if (of_b != status::done) of_b = b.handshake();
      if (of_a == status::failed || of_b == status::failed) return false;
    }
    return of_a == status::done && of_b == status::done;
  }

  std::string folder;
  std::array<int, 2> ends{};
};

// A reload replaces the context at any moment, also between a connection and its hello; the names
// that the hello is looked up in must still be there.
TEST_F(Tls, AHandshakeOutlivesTheContextThatItBeganWith) {
  const auto second = make("b.test");
  auto server = tls_context::server({.certificates = {make("a.test"), second}});
  const auto client = tls_context::client({.ca_file = second.certificate});
  ASSERT_TRUE(server && client);
  tls_session there(**server, ends[0], std::string_view{});
  tls_session here(**client, ends[1], tls_session::host_name{"b.test"});
  ASSERT_EQ(there.handshake(), status::want_read);
  server->reset();
  EXPECT_TRUE(shake(there, here)) << there.failure() << ", " << here.failure();
}

// Octets arrive as they were sent, however small the socket, and the end is told.
TEST_F(Tls, CarriesOctetsAndTheEnd) {
  const auto files = make("a.test");
  const auto server = tls_context::server({.certificates = {files}});
  const auto client = tls_context::client({.ca_file = files.certificate});
  ASSERT_TRUE(server && client);
  tls_session there(**server, ends[0], std::string_view{});
  tls_session here(**client, ends[1], tls_session::host_name{"a.test"});
  ASSERT_TRUE(shake(there, here)) << here.failure();

  std::string sent(1'000'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 131 >> 3);
  std::size_t done = 0;
  std::string got;
  std::array<char, 7'000> room{};
  while (got.size() < sent.size()) {
    const std::array<iovec, 2> pieces{iovec{sent.data() + done, (sent.size() - done) / 2},
                                      iovec{sent.data() + done + (sent.size() - done) / 2,
                                            sent.size() - done - (sent.size() - done) / 2}};
    std::size_t octets = 0;
    ASSERT_NE(there.write(pieces.data(), 2, octets), status::failed);
    done += octets;
    while (here.read(room.data(), room.size(), octets) == status::done)
      got.append(room.data(), octets);
  }
  EXPECT_TRUE(got == sent);
  there.close_notify();
  std::size_t octets = 0;
  EXPECT_EQ(here.read(room.data(), room.size(), octets), status::ended);
}

// A cut without close_notify is not a proper end: the octets before it may not be all.
TEST_F(Tls, TellsACutFromAnEnd) {
  const auto files = make("a.test");
  const auto server = tls_context::server({.certificates = {files}});
  const auto client = tls_context::client({.verify = false});
  tls_session there(**server, ends[0], std::string_view{});
  tls_session here(**client, ends[1], tls_session::host_name{"a.test"});
  ASSERT_TRUE(shake(there, here));
  ::shutdown(ends[0], SHUT_RDWR);
  std::array<char, 100> room{};
  std::size_t octets = 0;
  EXPECT_EQ(here.read(room.data(), room.size(), octets), status::failed);
}

struct trust_row {
  const char* what;
  bool verify;
  bool known_authority;
  const char* host;
  bool passes;
};
constexpr trust_row trust_rows[] = {
    {"the right name", true, true, "a.test", true},
    {"another name", true, true, "b.test", false},
    {"an address instead of a name", true, true, "192.0.2.1", false},
    {"an unknown authority", true, false, "a.test", false},
    {"not verified", false, false, "b.test", true},
};

// An upstream must be who it says it is, or the request goes nowhere.
TEST_F(Tls, TrustsByAuthorityAndName) {
  const auto files = make("a.test");
  const auto other = make("other.test");
  const auto server = tls_context::server({.certificates = {files}});
  for (const auto& row : trust_rows) {
    const auto client =
        tls_context::client({.ca_file = row.known_authority ? files.certificate : other.certificate,
                             .verify = row.verify});
    ASSERT_TRUE(client);
    std::array<int, 2> pair{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    {
      tls_session there(**server, pair[0], std::string_view{});
      tls_session here(**client, pair[1], tls_session::host_name{row.host});
      EXPECT_EQ(shake(there, here), row.passes) << row.what << ": " << here.failure();
    }
    for (const int end : pair) ::close(end);
  }
}

// Octets that came with a PROXY header are the beginning of the handshake.
TEST_F(Tls, TakesWhatWasReadBefore) {
  const auto files = make("a.test");
  const auto server = tls_context::server({.certificates = {files}});
  const auto client = tls_context::client({.ca_file = files.certificate});
  tls_session here(**client, ends[1], tls_session::host_name{"a.test"});
  ASSERT_EQ(here.handshake(), status::want_read);
  std::array<char, 37> early{};
  ASSERT_EQ(::read(ends[0], early.data(), early.size()), 37);
  tls_session there(**server, ends[0], std::string_view(early.data(), early.size()));
  EXPECT_TRUE(shake(there, here));
}

// Files that cannot serve are refused with their names, so that a reload keeps what works.
TEST_F(Tls, RefusesFilesThatDoNotFit) {
  const auto a = make("a.test");
  const auto b = make("b.test");
  const auto crossed = tls_context::server({.certificates = {{a.certificate, b.key}}});
  ASSERT_FALSE(crossed);
  EXPECT_NE(crossed.error().message.find("b.test.key"), std::string::npos);
  const auto missing = tls_context::server({.certificates = {{folder + "/none", a.key}}});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("/none"), std::string::npos);
  EXPECT_FALSE(tls_context::server({}));
  EXPECT_FALSE(tls_context::client({.ca_file = folder + "/none"}));
}

}  // namespace
}  // namespace penstock::net
