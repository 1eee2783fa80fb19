// SPDX-License-Identifier: BSD-3-Clause
// The loop stood still while a name server did not answer, and a lookup could not be cancelled. asio (#470, #1721),
// libuv (#28, #2850) and every program that calls getaddrinfo on a loop's thread have this defect. Here a name server
// gets the question and does not answer. Connections on the same loop continue, and a lookup or a client that waits for
// the name can be cancelled.
#include <gtest/gtest.h>

#include <peal/net/resolver.h>
#include <tests/support/dns/dns_script.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;

using Dns = test::NetTest;

TEST_P(Dns, dns_does_not_block_the_loop_and_can_be_cancelled) {
  test::DnsScript dns;
  dns.entries["mute.test"] = {.mute = true};
  Resolver resolver(loop(), {.servers = dns.server(), .try_timeout = seconds(60)});
  bool answered = false;
  const ResolveId lookup = ask([&] {
    return resolver.resolve("mute.test", 80, {.timeout = seconds(60)}, [&](auto) { answered = true; }).value();
  });
  ASSERT_TRUE(wait_until([&] {
    dns.pump();
    return dns.questions() >= 2;
  }));

  constexpr int kRounds = 1000;
  auto server = serve(test::echoing());
  int rounds = 0;
  Client client(loop(), {.on_open = [](Connection& connection) { connection.send("x"); },
                         .on_message =
                             [&](Connection& connection, Buffer& input) {
                               if (++rounds < kRounds) connection.send(std::move(input));
                             }});
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return rounds == kRounds; }));

  EXPECT_FALSE(ask([&] { return answered; }));
  EXPECT_EQ(ask([&] { return resolver.pending(); }), 1u);
  EXPECT_TRUE(ask([&] { return resolver.cancel(lookup); }));
  EXPECT_EQ(ask([&] { return resolver.pending(); }), 0u);
  ASSERT_TRUE(wait_until([turns = 0]() mutable { return ++turns == 10; }));
  EXPECT_FALSE(answered);
}

TEST_P(Dns, client_that_waits_for_a_name_can_be_stopped_and_destroyed) {
  test::DnsScript dns;
  dns.entries["mute.test"] = {.mute = true};
  Resolver resolver(loop(), {.servers = dns.server(), .try_timeout = seconds(60)});
  auto client = std::make_unique<Client>(loop(), journal.callbacks(),
                                         ClientOptions{.connect_timeout = seconds(60), .resolver = &resolver},
                                         [&](std::error_code, Duration) { journal.add("failed"); });
  for (int round = 1; round <= 2; ++round) {
    ASSERT_TRUE(client->connect("mute.test:80"));
    ASSERT_TRUE(wait_until([&] { return resolver.pending() == 1; }));
    client->stop();
    EXPECT_EQ(ask([&] { return resolver.pending(); }), 0u);
  }
  ASSERT_TRUE(client->connect("mute.test:80"));
  ASSERT_TRUE(wait_until([&] { return resolver.pending() == 1; }));
  client.reset();
  EXPECT_EQ(ask([&] { return resolver.pending(); }), 0u);
  EXPECT_TRUE(journal.lines().empty());
}

PEAL_TEST_ON_EVERY_ENGINE(Dns);

}  // namespace
}  // namespace peal
