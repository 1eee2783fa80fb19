// SPDX-License-Identifier: BSD-3-Clause
// Many clients lost one server at the same moment. They came back all together, again and again, because their delays
// were equal (muduo PR #172). And a server that accepted connections and dropped them was tried at the first delay for
// ever, because each successful connect started the back-off anew.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using ReconnectStorm = test::NetTest;

TEST_P(ReconnectStorm, many_clients_do_not_reconnect_at_the_same_time) {
  constexpr size_t kClients = 50;
  constexpr size_t kParts = 10;
  constexpr Duration kFirst = milliseconds(2);
  size_t opens = 0;
  std::vector<Duration> second_delays;
  auto server = serve({});
  std::vector<std::unique_ptr<Client>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    ClientOptions options;
    // Neighbouring seeds are the worst that a user may choose.
    options.retry = {
        .attempts = 2, .first_delay = kFirst, .longest_delay = seconds(60), .reconnect = true, .seed = i + 1};
    clients.push_back(std::make_unique<Client>(loop(), ConnectionCallbacks{.on_open = [&](Connection&) { ++opens; }},
                                               options, [&](std::error_code, Duration next) {
                                                 // The first delay is over; this is the second one.
                                                 if (next != Client::kNoRetry) second_delays.push_back(next);
                                               }));
    ASSERT_TRUE(clients.back()->connect(address()));
  }
  ASSERT_TRUE(wait_until([&] { return opens == kClients; }));
  server.reset();
  ASSERT_TRUE(wait_until([&] { return second_delays.size() == kClients; }));
  clients.clear();

  // The second delays lie between kFirst and 2 * kFirst. No tenth of this range has more than three times its share.
  std::array<size_t, kParts> counts{};
  for (const Duration delay : second_delays) {
    ASSERT_GE(delay, kFirst);
    ASSERT_LE(delay, 2 * kFirst);
    ++counts[std::min<size_t>(kParts - 1, static_cast<size_t>((delay - kFirst) * kParts / kFirst))];
  }
  EXPECT_LE(*std::ranges::max_element(counts), 3 * kClients / kParts);
  EXPECT_GE(kParts - static_cast<size_t>(std::ranges::count(counts, 0u)), kParts - 2);
}

TEST_P(ReconnectStorm, server_that_accepts_and_drops_is_tried_less_and_less_often) {
  auto server = serve({.on_open = [](Connection& connection) { connection.abort(); }});
  // The reset may arrive before the client sees that it is connected. Then this attempt counts as failed.
  std::vector<TimePoint> tries;
  ClientOptions options;
  options.retry = {.attempts = 0, .first_delay = milliseconds(4), .longest_delay = seconds(60), .reconnect = true};
  Client client(loop(), {.on_open = [&](Connection&) { tries.push_back(loop().now()); }}, options,
                [&](std::error_code, Duration) { tries.push_back(loop().now()); });
  ASSERT_TRUE(client.connect(address()));
  ASSERT_TRUE(wait_until([&] { return tries.size() >= 7; }));
  // The six delays are at least half of 4, 8, 16, 32, 64 and 128 ms, together 126 ms.
  EXPECT_GE(tries[6] - tries[0], milliseconds(126));
  client.stop();
  ask([] {});
}

PEAL_TEST_ON_EVERY_ENGINE(ReconnectStorm);

}  // namespace
}  // namespace peal
