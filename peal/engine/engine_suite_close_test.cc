// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, closing: it has exactly one last completion, after which nothing refers to the stream.
// The sinks fail a test if anything except the last completion follows close().
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineClose : public EngineTest {};
PEAL_SUITE_ON_EVERY_LAYER(EngineClose);

TEST_P(EngineClose, with_a_receive_armed_sends_fin_at_once) {
  auto [client, server] = rig().pair();
  client.receive();
  server.receive();
  rig().settle();
  server.close();
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.closed; }));
  EXPECT_FALSE(client.end_error) << client.end_error.message();
}

TEST_P(EngineClose, by_reset_sends_rst) {
  auto [client, server] = rig().pair();
  client.receive();
  server.receive();
  rig().settle();
  server.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.closed; }));
  EXPECT_EQ(client.end_error, std::errc::connection_reset);
}

TEST_P(EngineClose, idle_stream_that_never_received) {
  auto [client, server] = rig().pair();
  client.receive();
  server.close();
  EXPECT_FALSE(server.closed) << "a completion inside the call";
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.closed; }));
}

TEST_P(EngineClose, drops_the_queue_but_not_what_the_kernel_has) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(20'000'000);
  server.send_blocks(Buffer(bytes));
  rig().settle();
  EXPECT_GT(server.queued(), 0U);
  server.close();
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.closed; }));
  // A layer misses the end mark, since the output was cut short, and reports an error.
  EXPECT_EQ(static_cast<bool>(client.end_error), test::is_layered(GetParam())) << client.end_error.message();
  EXPECT_GT(client.received.size(), 0U);
  EXPECT_LT(client.received.size(), bytes.size());
  EXPECT_TRUE(same_bytes(client.received, bytes.substr(0, client.received.size())));
}

// An end that was found while receiving was off is reported when receiving is on, and only once.
TEST_P(EngineClose, of_the_peer_is_one_end_however_it_was_found) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    auto [client, server] = rig().pair();
    server.receive();
    for (int turn = 0; turn < 8; ++turn) {
      if (random() % 2 != 0) client.send("x");
      if (random() % 4 == 0) server.send("yy");
      rig().wait(Engine::kPollOnly);
    }
    if (random() % 2 != 0) client.send("z");
    server.close();
    rig().wait(Engine::kPollOnly);
    if (random() % 2 != 0) rig().wait(Engine::kPollOnly);
    client.receive();
    ASSERT_TRUE(rig().run_until([&, &here = client] { return here.ended; }));
    rig().settle();  // The sink fails the test if a second end is reported.
    client.close();
  }
}

TEST_P(EngineClose, inside_on_received_with_more_in_flight) {
  auto [client, server] = rig().pair();
  server.receive();
  server.when_received = [&] { server.close(); };
  client.send_blocks(Buffer(pattern(2'000'000)));
  ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  rig().settle();
  EXPECT_EQ(server.receive_count, 1U);
}

TEST_P(EngineClose, after_queueing_inside_on_received) {
  auto [client, server] = rig().pair();
  server.receive();
  server.when_received = [&] {
    server.send_blocks(Buffer(pattern(5'000'000)));
    server.report_sent();
    server.shutdown_send();
    server.close();
  };
  client.send("go");
  ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  rig().settle();
}

TEST_P(EngineClose, inside_on_connected) {
  AcceptLog& acceptor = rig().listen();
  StreamLog& client = rig().connect(acceptor.address);
  client.receive();
  client.when_connected = [&] { client.close(); };
  ASSERT_TRUE(rig().run_until([&] { return !acceptor.accepted.empty(); }));
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.closed && server.ended; }));
  EXPECT_EQ(server.received, "");
}

TEST_P(EngineClose, inside_on_connected_after_a_failure) {
  AcceptLog& acceptor = rig().listen();
  ASSERT_TRUE(rig().stops(acceptor));
  StreamLog& client = rig().connect(acceptor.address);
  client.when_connected = [&] { client.close(); };
  ASSERT_TRUE(rig().run_until([&] { return client.closed; }));
  EXPECT_EQ(client.connect_error, std::errc::connection_refused);
}

TEST_P(EngineClose, during_connect) {
  AcceptLog& acceptor = rig().listen();
  StreamLog& at_once = rig().connect(acceptor.address);
  at_once.receive();
  at_once.send("never mind");
  at_once.close();
  EXPECT_FALSE(at_once.closed) << "a completion inside the call";
  ASSERT_TRUE(rig().run_until([&] { return at_once.closed; }));
  EXPECT_FALSE(at_once.connected);
}

TEST_P(EngineClose, inside_on_receive_end) {
  auto [client, server] = rig().pair();
  client.receive();
  server.receive();
  server.when_ended = [&] { server.close(); };
  client.when_ended = [&] { client.close(CloseHow::kReset); };
  client.send("bye");
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return server.closed && client.closed; }));
  EXPECT_EQ(server.received, "bye");
}

TEST_P(EngineClose, inside_on_send_failed) {
  auto [client, server] = rig().pair();
  client.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return client.closed; }));
  server.receive();
  server.when_ended = [&] {};
  server.when_send_failed = [&] { server.close(); };
  server.send("anybody?");
  ASSERT_TRUE(rig().run_until([&] { return server.closed || server.ended; }));
  if (!server.closed) {
    if (server.send_failures == 0) server.close();
    ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  }
}

TEST_P(EngineClose, inside_on_sent) {
  auto [client, server] = rig().pair();
  client.receive();
  server.report_sent();
  server.when_sent = [&] {
    if (server.sent_reports.back() == 0) server.close();
  };
  const std::string bytes = pattern(3'000'000);
  server.send_blocks(Buffer(bytes));
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.closed; }));
  EXPECT_FALSE(client.end_error);
  EXPECT_TRUE(same_bytes(client.received, bytes));
}

TEST_P(EngineClose, two_streams_close_each_other_in_one_batch) {
  for (int round = 0; round < 10; ++round) {
    auto [one_client, one] = rig().pair();
    auto [other_client, other] = rig().pair();
    auto close_both = [&one, &other] {
      one.close();
      other.close();
    };
    one.when_received = other.when_received = close_both;
    one.receive();
    other.receive();
    one_client.send("now");
    other_client.send("now");
    ASSERT_TRUE(rig().run_until([&] { return one.closed && other.closed; }));
    EXPECT_EQ(one.receive_count + other.receive_count, 1U);
    one_client.close();
    other_client.close();
  }
}

TEST_P(EngineClose, every_stream_of_a_batch_inside_the_first_completion) {
  std::vector<EngineRig::Pair> pairs;
  for (int i = 0; i < 30; ++i) pairs.push_back(rig().pair());
  for (auto& [client, server] : pairs) {
    server.receive();
    client.receive();
    server.when_received = [&] {
      for (auto& pair : pairs) {
        if (pair.server.open()) pair.server.close();
      }
    };
  }
  for (auto& [client, server] : pairs) client.send("all fall down");
  ASSERT_TRUE(rig().run_until(
      [&] { return std::ranges::all_of(pairs, [](auto& pair) { return pair.server.closed && pair.client.ended; }); }));
  size_t receives = 0;
  for (auto& pair : pairs) receives += pair.server.receive_count;
  EXPECT_EQ(receives, 1U);
}

TEST_P(EngineClose, twice_is_once_and_counted) {
  auto [client, server] = rig().pair();
  uint64_t before = rig().stats().stale_calls;
  server.close();
  server.close();
  server.close(CloseHow::kReset);
  EXPECT_EQ(rig().stats().stale_calls - before, 2U);
  ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  rig().settle();
}

TEST_P(EngineClose, id_that_names_nothing_does_nothing_and_is_counted) {
  rig().pair();
  Engine& engine = rig().engine();
  const uint64_t before = rig().stats().stale_calls;
  EXPECT_EQ(engine.send({}, Buffer("x")), 0U);
  EXPECT_EQ(engine.send_copy({}, "x"), 0U);
  engine.receive({}, true);
  engine.close({});
  EXPECT_EQ(rig().stats().stale_calls, before + 4);
}

TEST_P(EngineClose, calls_with_a_dead_id_do_nothing_and_are_counted) {
  auto [client, server] = rig().pair();
  server.receive();
  StreamId id = server.id;
  server.close();
  Engine& engine = rig().engine();
  std::array<std::function<void()>, 7> calls{
      [&] { engine.receive(id, true); },
      [&] { EXPECT_EQ(engine.send(id, Buffer("x")), 0U); },
      [&] { EXPECT_EQ(engine.send_copy(id, "x"), 0U); },
      [&] { engine.report_sent(id); },
      [&] { engine.shutdown_send(id); },
      [&] { engine.detach(id); },
      [&] { engine.close(id); },
  };
  for (int round = 0; round < 2; ++round) {  // The first round is before the last completion, the second after it.
    for (size_t i = 0; i < calls.size(); ++i) {
      uint64_t before = rig().stats().stale_calls;
      calls[i]();
      EXPECT_EQ(rig().stats().stale_calls, before + 1) << "call " << i << " of round " << round;
    }
    EXPECT_EQ(engine.queued_bytes(id), 0U);
    EXPECT_FALSE(engine.set_option(id, SocketOption::kNoDelay, 1).has_value());
    EXPECT_FALSE(engine.local_address(id).has_value());
    EXPECT_FALSE(engine.peer_address(id).has_value());
    ASSERT_TRUE(rig().run_until([&] { return server.closed; }));
  }
  engine.close(StreamId{});
  engine.close(StreamId{.slot = 4'000'000'000, .generation = 1});
  rig().settle();
}

TEST_P(EngineClose, new_stream_in_an_old_slot_gets_only_its_own_events) {
  for (int round = 0; round < 20; ++round) {
    auto [old_client, old_server] = rig().pair();
    auto [new_client, passed_on] = rig().pair();
    passed_on.detach();
    ASSERT_TRUE(rig().run_until([&] { return passed_on.loose.has_value(); }));
    StreamLog* successor = nullptr;
    old_server.receive();
    old_server.when_received = [&] {
      old_server.close();
      successor = &rig().adopt(std::move(*passed_on.loose), "successor");
      successor->receive();
    };
    old_client.send_blocks(Buffer(pattern(600'000)));
    new_client.send("mine alone");
    ASSERT_TRUE(rig().run_until([&] { return old_server.closed && successor && successor->received.size() >= 10; }));
    rig().settle();
    EXPECT_EQ(successor->received, "mine alone");
    EXPECT_FALSE(successor->ended);
    EXPECT_NE(successor->id, old_server.id);
    for (StreamLog* stream : {&old_client, &new_client, successor}) stream->close();
  }
}

TEST_P(EngineClose, owner_may_connect_again_inside_on_closed) {
  AcceptLog& acceptor = rig().listen();
  int connects = 1;
  std::function<void(StreamLog&)> again = [&](StreamLog& client) {
    client.when_connected = [&client] { client.close(); };
    client.when_closed = [&] {
      if (++connects <= 20) again(rig().connect(acceptor.address));
    };
  };
  acceptor.when_accepted = [&] { rig().adopt(std::move(acceptor.accepted.back())); };
  again(rig().connect(acceptor.address));
  ASSERT_TRUE(rig().run_until([&] { return connects == 21 && acceptor.accept_count == 20; }));
}

}  // namespace
}  // namespace peal
