// Redis behind TLS, with certificates made for the test.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "load.hpp"
#include "redis_server.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;

class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEEDS_REDIS();
    files_ = std::make_unique<redis_server>();  // for its folder
    const std::string f = files_->folder();
    const std::string make = "cd " + f +
                             " && exec >/dev/null 2>&1 && "
                             "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem "
                             "-subj /CN=ca -days 2 && "
                             "openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out "
                             "other.pem -subj /CN=other -days 2 && "
                             "for n in server client; do openssl req -newkey rsa:2048 -nodes "
                             "-keyout $n.key -out $n.csr -subj /CN=$n && "
                             "echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' > ext && "
                             "openssl x509 -req -in $n.csr -CA ca.pem -CAkey ca.key "
                             "-CAcreateserial -out $n.pem -days 2 -extfile ext || exit 1; done";
    ASSERT_EQ(std::system(make.c_str()), 0) << "openssl";
    port_ = free_port();
    server_ = std::make_unique<redis_server>(std::vector<std::string>{
        "--tls-port", std::to_string(port_), "--tls-cert-file", f + "/server.pem", "--tls-key-file",
        f + "/server.key", "--tls-ca-cert-file", f + "/ca.pem", "--requirepass", "s3cret"});
  }
  [[nodiscard]] std::string url(const std::string& host, const std::string& options) const {
    return "rediss://:s3cret@" + host + ":" + std::to_string(port_) + "?" + options;
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return files_->folder() + "/" + name;
  }
  [[nodiscard]] std::string with_client() const {
    return "&cert=" + file("client.pem") + "&key=" + file("client.key");
  }

  std::unique_ptr<redis_server> files_;
  std::unique_ptr<redis_server> server_;
  int port_ = 0;
};

// By name and by address, both in the certificate; the server asks for ours as well.
TEST_F(Tls, ServesOverAVerifiedConnection) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    store_runner r(url(host, "ca=" + file("ca.pem") + with_client()));
    ASSERT_TRUE(r.run_until([&] { return r.store().serving(); }))
        << host << " " << r.events().back();
    load l(r, 64);
    l.run_until_answered(5'000);
    const auto seen = l.take_seen();
    EXPECT_EQ(seen.failed, 0U) << host;
    EXPECT_EQ(seen.foreign, 0U) << host;
  }
}

struct refused_row {
  const char* name;
  std::string host;
  std::string options;
  const char* says;
};

// A connection that is not the one that was asked for must not get the password.
TEST_F(Tls, RefusesWhomItCannotTrust) {
  const refused_row rows[] = {
      {"another CA", "127.0.0.1", "ca=" + file("other.pem") + with_client(), "certificate"},
      {"another name", "127.0.0.1",
       "server_name=redis.example&ca=" + file("ca.pem") + with_client(), "certificate"},
  };
  for (const refused_row& row : rows) {
    store_runner r(url(row.host, row.options), 200ms);
    r.run_for(500ms);
    EXPECT_FALSE(r.store().serving()) << row.name;
    ASSERT_FALSE(r.events().empty()) << row.name;
    EXPECT_NE(r.events()[0].find(row.says), std::string::npos) << row.name << ": " << r.events()[0];
    EXPECT_EQ(r.events()[0].find("s3cret"), std::string::npos);
  }
}

// Less than full verification has to be asked for in so many words.
TEST_F(Tls, TrustsMoreWhenAsked) {
  for (const std::string& options :
       {"verify=none" + with_client(),
        "verify=ca&server_name=redis.example&ca=" + file("ca.pem") + with_client()}) {
    store_runner r(url("127.0.0.1", options));
    EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }))
        << options << " " << r.events().back();
  }
}

// A server that wants our certificate and does not get it.
TEST_F(Tls, SaysThatTheServerRefusesUs) {
  store_runner r(url("127.0.0.1", "ca=" + file("ca.pem")), 200ms);
  r.run_for(500ms);
  EXPECT_FALSE(r.store().serving());
  EXPECT_FALSE(r.events().empty());
}

// A file that cannot be read is a fault of the configuration, told at the start.
TEST_F(Tls, RefusesFilesThatCannotBeUsed) {
  EXPECT_THROW(store_runner(url("127.0.0.1", "ca=/nowhere.pem")), std::runtime_error);
  EXPECT_THROW(
      store_runner(url("127.0.0.1", "cert=" + file("client.pem") + "&key=" + file("ca.key"))),
      std::runtime_error);
}

}  // namespace
}  // namespace penstock::redis_test
