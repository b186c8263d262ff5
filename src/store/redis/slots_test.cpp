#include "store/redis/slots.hpp"

#include <string>

#include <gtest/gtest.h>

namespace penstock::store::redis {
namespace {

struct slot_row {
  const char* key;
  int slot;
};

// A wrong slot costs a redirection on every call; a wrong tag splits a request over nodes.
TEST(Slots, FollowTheSpecification) {
  const slot_row rows[] = {
      {"123456789", 12739},
      {"foo", 12182},
      {"bar", 5061},
      {"{user1000}.following", 3443},
      {"{user1000}.followers", 3443},
      {"foo{}{bar}", 8363},
      {"foo{{bar}}zap", 4015},
      {"foo{bar}{zap}", 5061},
      {"{}x", 10595},
      {"rl:{tenant:42}:minute", 10956},
      {"rl:{tenant:42}:day", 10956},
      {"", 0},
  };
  for (const slot_row& r : rows) EXPECT_EQ(slot_of(r.key), r.slot) << r.key;
}

TEST(Slots, FindAKeyForEachSlot) {
  for (const int slot : {0, 1, 5460, 5461, 16'383}) {
    EXPECT_EQ(slot_of(key_in_slot("penstock:probe", slot)), slot);
  }
}

std::string bulk(std::string_view s) {
  std::string out;
  net::resp::append_bulk(out, s);
  return out;
}

std::string shard_node(std::string_view endpoint, int port, int tls_port, std::string_view role,
                       std::string_view health) {
  return "*14\r\n" + bulk("id") + bulk("x") + bulk("port") + ":" + std::to_string(port) + "\r\n" +
         bulk("tls-port") + ":" + std::to_string(tls_port) + "\r\n" + bulk("ip") +
         bulk("10.0.0.9") + bulk("endpoint") + bulk(endpoint) + bulk("role") + bulk(role) +
         bulk("health") + bulk(health);
}

std::string shard(const std::string& slots, std::initializer_list<std::string> nodes) {
  std::string out = "*4\r\n" + bulk("slots") + slots + bulk("nodes") + "*" +
                    std::to_string(nodes.size()) + "\r\n";
  for (const std::string& n : nodes) out += n;
  return out;
}

slot_map shards_of(const std::string& wire, bool tls = false) {
  net::resp::reader reader;
  EXPECT_EQ(reader.read(wire), net::resp::read_status::complete) << reader.problem();
  return parse_shards(reader.nodes(), "asked", tls);
}

// Replicas first, failed masters, no host, unknown host: as clusters in the field describe
// themselves.
TEST(Slots, ReadShards) {
  const std::string wire =
      "*4\r\n" +
      shard("*4\r\n:0\r\n:99\r\n:200\r\n:299\r\n",
            {shard_node("r", 7003, 0, "replica", "online"),
             shard_node("a.example", 7000, 8000, "master", "online")}) +
      shard("*2\r\n:100\r\n:199\r\n", {shard_node("old", 7001, 0, "master", "fail"),
                                       shard_node("", 7004, 0, "master", "online")}) +
      shard("*2\r\n:300\r\n:16383\r\n", {shard_node("?", 7005, 0, "master", "online")}) +
      shard("*0\r\n", {shard_node("empty", 7006, 0, "master", "online")});
  const slot_map map = shards_of(wire);
  ASSERT_EQ(map.ranges.size(), 4U);
  EXPECT_EQ(map.masters[map.ranges[0].node], (host_port{"a.example", 7000}));
  EXPECT_EQ(map.ranges[1].first, 200);
  EXPECT_EQ(map.ranges[1].node, map.ranges[0].node);
  EXPECT_EQ(map.masters[map.ranges[2].node], (host_port{"asked", 7004}));
  EXPECT_EQ(map.masters[map.ranges[3].node], (host_port{"10.0.0.9", 7005}));
  EXPECT_EQ(shards_of(wire, true).masters[0].port, 8000);
}

// A node that talks nonsense must not move a single slot.
TEST(Slots, RefuseWhatIsNoDescription) {
  for (const char* wire :
       {"+OK\r\n", "*0\r\n", "*1\r\n:1\r\n", "*1\r\n*2\r\n+slots\r\n:1\r\n", "*1\r\n*0\r\n"}) {
    EXPECT_TRUE(shards_of(wire).ranges.empty()) << wire;
  }
  const auto outside = shard("*2\r\n:0\r\n:16384\r\n", {shard_node("a", 1, 0, "master", "online")});
  EXPECT_TRUE(shards_of("*1\r\n" + outside).ranges.empty());
  const auto backwards = shard("*2\r\n:5\r\n:4\r\n", {shard_node("a", 1, 0, "master", "online")});
  EXPECT_TRUE(shards_of("*1\r\n" + backwards).ranges.empty());
}

// Redis before 7: with extra metadata of the node, as newer ones add.
TEST(Slots, ReadTheOlderDescription) {
  const std::string wire = "*2\r\n*4\r\n:0\r\n:5460\r\n*4\r\n" + bulk("10.0.0.1") + ":7000\r\n" +
                           bulk("id") + "*2\r\n" + bulk("hostname") + bulk("h") + "*3\r\n" +
                           bulk("10.0.0.2") + ":7003\r\n" + bulk("id") +
                           "*3\r\n:5461\r\n:16383\r\n*3\r\n" + bulk("") + ":7001\r\n" + bulk("id");
  net::resp::reader reader;
  ASSERT_EQ(reader.read(wire), net::resp::read_status::complete);
  const slot_map map = parse_slots(reader.nodes(), "asked");
  ASSERT_EQ(map.ranges.size(), 2U);
  EXPECT_EQ(map.masters[map.ranges[0].node], (host_port{"10.0.0.1", 7000}));
  EXPECT_EQ(map.masters[map.ranges[1].node], (host_port{"asked", 7001}));
  EXPECT_EQ(map.ranges[1].last, 16'383);
}

}  // namespace
}  // namespace penstock::store::redis
