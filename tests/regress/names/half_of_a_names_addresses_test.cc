// SPDX-License-Identifier: BSD-3-Clause
// A lookup failed because one of two answers was lost, although the other answer was there (curl#11684, c-ares#538).
// The A addresses and the AAAA addresses of a name are two questions. No address was shown before both were answered.
// If the answer to AAAA was lost, a client failed after its 10 s. If this answer was 3 s late, the client connected
// after 3 s, while RFC 8305 3 lets it begin 50 ms after the answer to A. The same happened if the answer to A was lost
// or late.
//
// Now addresses that come late join the connection attempts that are under way.
#include <gmock/gmock.h>

#include <tests/support/dns/resolver_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

class HalfOfANamesAddresses : public test::ResolverTest {
 protected:
  void SetUp() override {
    ResolverTest::SetUp();
    if (IsSkipped()) return;
    resolver.emplace(loop(), ResolverOptions{.servers = dns->server(), .try_timeout = seconds(60)});
    server = serve(test::echoing());
    const std::string six = "[::1]:" + std::to_string(address().port());
    has_ipv6 = server->listen(six).has_value();
  }
  void TearDown() override {
    client.reset();
    server.reset();
    ResolverTest::TearDown();
  }
  void connect(const std::string& name, Duration timeout = seconds(60)) {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      const auto peer = connection.peer_address();
      journal.add(peer && peer->family() == AF_INET6 ? "open by IPv6" : "open by IPv4");
    };
    ClientOptions options;
    options.connect_timeout = timeout;
    options.resolver = &*resolver;
    client.emplace(loop(), std::move(callbacks), options,
                   [this](std::error_code error, Duration) { journal.add(error.message()); });
    ASSERT_TRUE(client->connect(name + ":" + std::to_string(address().port())));
  }

  std::unique_ptr<Server> server;
  std::optional<Client> client;
  bool has_ipv6 = false;
};

TEST_P(HalfOfANamesAddresses, answer_to_aaaa_is_lost) {
  dns->entries["half.test"] = {.addresses = {"127.0.0.1"}};
  dns->entries["half.test AAAA"] = {.mute = true};
  connect("half.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("open by IPv4"));
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 0u) << "the lost answer is not awaited any more";
}

TEST_P(HalfOfANamesAddresses, answer_to_a_is_lost) {
  if (!has_ipv6) GTEST_SKIP() << "this machine has no IPv6";
  dns->entries["half.test"] = {.addresses = {"::1"}};
  dns->entries["half.test A"] = {.mute = true};
  connect("half.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("open by IPv6"));
}

TEST_P(HalfOfANamesAddresses, answer_behind_an_alias_is_lost) {
  dns->entries["half.test A"] = {.addresses = {"127.0.0.1"}, .aliases = {"other.example"}};
  dns->entries["half.test AAAA"] = {.mute = true};
  connect("half.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("open by IPv4"));
}

TEST_P(HalfOfANamesAddresses, one_answer_is_too_long_and_tcp_is_refused) {
  dns->refuse_tcp();
  dns->entries["half.test A"] = {.addresses = {"127.0.0.1"}};
  dns->entries["half.test AAAA"] = {.addresses = {"::1"}, .truncated = true};
  connect("half.test");
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("open by IPv4"));
}

// RFC 4074 4: some name servers answer a question for AAAA with an error.
TEST_P(HalfOfANamesAddresses, name_server_refuses_one_of_the_questions) {
  for (size_t count = 1; const int rcode : {2, 3, 5}) {
    dns->entries["half.test"] = {.addresses = {"127.0.0.1"}};
    dns->entries["half.test AAAA"] = {.rcode = rcode};
    connect("half.test");
    ASSERT_TRUE(told(count)) << rcode;
    EXPECT_EQ(journal.count("open by IPv4"), count++);
  }
}

TEST_P(HalfOfANamesAddresses, late_addresses_join_the_attempts_under_way) {
  if (!has_ipv6) GTEST_SKIP() << "this machine has no IPv6";
  dns->entries["half.test A"] = {.addresses = {"127.0.0.3"}};  // nobody listens there
  dns->entries["half.test AAAA"] = {.addresses = {"::1"}, .late = true};
  connect("half.test");
  ASSERT_TRUE(asked(2));
  ASSERT_TRUE(wait_until([&] { return client->stats().connect_failed == 1; }));
  EXPECT_THAT(journal.lines(), ElementsAre()) << "the other half may still come";
  ask([&] { dns->release(); });
  ASSERT_TRUE(told());
  EXPECT_THAT(journal.lines(), ElementsAre("open by IPv6"));
}

TEST_P(HalfOfANamesAddresses, deadline_ends_the_wait_for_the_other_half) {
  dns->entries["half.test A"] = {.addresses = {"127.0.0.3"}};
  dns->entries["half.test AAAA"] = {.mute = true};
  // On a busy machine the timeout may end before the first half has come. Then the next try has more time.
  milliseconds timeout(100);
  do {
    journal.clear();
    timeout *= 2;
    connect("half.test", timeout);
    ASSERT_TRUE(told());
  } while (journal.count(test::sentence(Trouble::kNoAnswer)) == 1 && timeout < seconds(10));
  EXPECT_THAT(journal.lines(), ElementsAre("Connection refused")) << "the error of the address that was known";
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 0u);
}

TEST_P(HalfOfANamesAddresses, stopped_while_the_other_half_is_awaited) {
  dns->entries["half.test A"] = {.addresses = {"127.0.0.3"}};
  dns->entries["half.test AAAA"] = {.mute = true};
  connect("half.test");
  ASSERT_TRUE(asked(2));
  ASSERT_TRUE(wait_until([&] { return client->stats().connect_failed == 1; }));
  client->stop();
  EXPECT_EQ(ask([&] { return resolver->pending(); }), 0u);
  EXPECT_THAT(journal.lines(), ElementsAre());
}

PEAL_TEST_ON_EVERY_ENGINE(HalfOfANamesAddresses);

}  // namespace
}  // namespace peal
