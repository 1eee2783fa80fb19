// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, hand-over: a stream leaves one engine and joins another. No byte is lost or doubled.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineHandover : public EngineTest {
 protected:
  // Detaches `stream` and adopts it again in the same engine.
  StreamLog& readopt(StreamLog& stream) {
    stream.detach();
    EXPECT_TRUE(rig().run_until([&] { return stream.loose.has_value(); }));
    return rig().adopt(std::move(*stream.loose), stream.name() + "'");
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineHandover, testing::ValuesIn(every_engine()), engine_label);

// These tests do not run in the simulator: each of its worlds has one thread, and streams cannot move between worlds.
class EngineHandoverToThread : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineHandoverToThread, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineHandover, detached_stream_goes_on_where_it_was) {
  auto [client, first] = rig().pair();
  client.receive();
  first.receive();
  client.send("one ");
  ASSERT_TRUE(rig().run_until([&] { return first.received == "one "; }));
  StreamLog& second = readopt(first);
  EXPECT_NE(second.id, first.id);
  client.send("two");
  rig().settle();
  EXPECT_EQ(second.received, "");
  second.receive();
  ASSERT_TRUE(rig().run_until([&] { return second.received == "two"; }));
  second.send("fine");
  ASSERT_TRUE(rig().run_until([&] { return client.received == "fine"; }));
  EXPECT_FALSE(client.ended);
  uint64_t before = rig().stats().stale_calls;
  first.send("late");
  EXPECT_EQ(rig().stats().stale_calls, before + 1);
}

// An engine that completes receives by itself may hold input of a stream that is detached. The input moves with the
// stream.
TEST_P(EngineHandover, bytes_received_before_the_hand_over_come_first) {
  auto [client, first] = rig().pair();
  first.detach();
  ASSERT_TRUE(rig().run_until([&] { return first.loose.has_value(); }));
  client.send("late");
  auto foreign = first.loose->take_foreign();
  StreamLog& second = rig().adopt(foreign ? LooseStream(std::move(foreign), Buffer("early "))
                                          : LooseStream(std::move(*first.loose).take_fd(), Buffer("early ")),
                                  "second");
  rig().settle();
  EXPECT_EQ(second.received, "");
  second.receive();
  ASSERT_TRUE(rig().run_until([&] { return second.received.size() == 10; }));
  EXPECT_EQ(second.received, "early late");
}

TEST_P(EngineHandover, detach_waits_for_queued_output) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(12'000'000);
  server.send_blocks(Buffer(bytes));
  server.detach();
  rig().settle();
  EXPECT_FALSE(server.loose.has_value());
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.loose.has_value(); }));
  StreamLog& next = rig().adopt(std::move(*server.loose), "next");
  next.send("and the rest");
  next.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_TRUE(same_bytes(client.received, bytes + "and the rest"));
}

TEST_P(EngineHandover, detach_ends_when_queued_output_can_never_leave) {
  auto [client, server] = rig().pair();
  server.send_blocks(Buffer(pattern(20'000'000)));
  rig().settle();
  server.detach();
  client.close(CloseHow::kReset);
  ASSERT_TRUE(rig().run_until([&] { return server.finished(); }));
}

TEST_P(EngineHandover, bytes_in_flight_while_detaching_go_to_the_adopter) {
  for (size_t after_receives : {1U, 2U, 5U}) {
    auto [client, first] = rig().pair();
    const std::string bytes = pattern(2'000'000);
    first.receive();
    first.when_received = [&] {
      if (first.receive_count == after_receives) first.detach();
    };
    client.send_blocks(Buffer(bytes));
    client.shutdown_send();
    ASSERT_TRUE(rig().run_until([&] { return first.loose.has_value(); }));
    StreamLog& second = rig().adopt(std::move(*first.loose), "second");
    second.receive();
    ASSERT_TRUE(rig().run_until([&] { return second.ended; }));
    EXPECT_TRUE(same_bytes(first.received + second.received, bytes));
  }
}

TEST_P(EngineHandover, bytes_stashed_by_a_pause_go_to_the_adopter) {
  auto [client, first] = rig().pair();
  const std::string bytes = pattern(1'000'000);
  first.receive();
  first.when_received = [&] { first.receive(false); };
  client.send_blocks(Buffer(bytes));
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return first.receive_count == 1; }));
  rig().settle();
  StreamLog& second = readopt(first);
  second.receive();
  ASSERT_TRUE(rig().run_until([&] { return second.ended; }));
  EXPECT_TRUE(same_bytes(first.received + second.received, bytes));
}

TEST_P(EngineHandover, fin_before_detach_is_seen_by_the_adopter) {
  auto [client, first] = rig().pair();
  client.send("last");
  client.shutdown_send();
  rig().settle();
  StreamLog& second = readopt(first);
  second.receive();
  ASSERT_TRUE(rig().run_until([&] { return second.ended; }));
  EXPECT_EQ(second.received, "last");
}

TEST_P(EngineHandover, loose_stream_that_nobody_adopts_is_closed) {
  auto [client, server] = rig().pair();
  client.receive();
  server.detach();
  ASSERT_TRUE(rig().run_until([&] { return server.loose.has_value(); }));
  server.loose.reset();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
}

// Passes one stream at a time from the thread of one engine to that of another.
struct Relay {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<LooseStream> stream;

  void put(LooseStream loose) {
    std::lock_guard lock(mutex);
    stream.emplace(std::move(loose));
    changed.notify_one();
  }
  LooseStream take() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stream.has_value(); });
    LooseStream loose = std::move(*stream);
    stream.reset();
    return loose;
  }
};

TEST_P(EngineHandoverToThread, while_bytes_keep_coming) {
  for (const std::string& to : engines_with_fds()) {  // Every engine can adopt what another one has detached.
    if (!test::why_unsupported(to).empty()) continue;
    SCOPED_TRACE(to);
    const std::string bytes = pattern(6'000'000);
    Relay relay;
    std::string second_half;
    std::thread other([&] {
      LooseStream loose = relay.take();
      EngineRig there(to);
      StreamLog& adopted = there.adopt(std::move(loose), "adopted");
      adopted.receive();
      ASSERT_TRUE(there.run_until([&] { return adopted.ended; }));
      second_half = adopted.received;
      adopted.send("got it");
      adopted.shutdown_send();
      ASSERT_TRUE(there.run_beside([&] { return adopted.queued() == 0; }));
    });
    auto [client, server] = rig().pair();
    client.receive();
    client.send_blocks(Buffer(bytes));
    client.shutdown_send();
    server.receive();
    bool leaving = false;
    server.when_received = [&] {
      if (server.received.size() > 100'000 && !std::exchange(leaving, true)) server.detach();
    };
    EXPECT_TRUE(rig().run_until([&] { return server.loose.has_value(); }));
    if (server.loose) relay.put(std::move(*server.loose));
    EXPECT_TRUE(rig().run_until([&] { return client.ended; }));
    other.join();
    EXPECT_EQ(client.received, "got it");
    EXPECT_GT(server.received.size(), 0U);
    EXPECT_TRUE(same_bytes(server.received + second_half, bytes));
  }
}

TEST_P(EngineHandoverToThread, accepted_by_one_thread_and_served_by_another) {
  constexpr int kStreams = 20;
  Relay relay;
  std::atomic<int> served = 0;
  std::thread other([&] {
    EngineRig there(GetParam());
    for (int i = 0; i < kStreams; ++i) {
      StreamLog& server = there.adopt(relay.take());
      server.receive();
      server.when_ended = [&server] {
        server.send(server.received);
        server.shutdown_send();
        server.report_sent();
      };
      server.when_sent = [&server] {
        if (server.sent_reports.back() == 0) server.close();
      };
      ASSERT_TRUE(there.run_until([&] { return server.closed; }));
      ++served;
    }
  });
  AcceptLog& acceptor = rig().listen();
  for (int i = 0; i < kStreams; ++i) {
    StreamLog& client = rig().connect(acceptor.address);
    client.receive();
    client.send("over there");
    client.shutdown_send();
    EXPECT_TRUE(rig().run_until([&] { return !acceptor.accepted.empty(); }));
    relay.put(std::move(acceptor.accepted.front()));
    acceptor.accepted.pop_front();
    EXPECT_TRUE(rig().run_until([&] { return client.ended; }));
    EXPECT_EQ(client.received, "over there");
    client.close();
  }
  other.join();
  EXPECT_EQ(served.load(), kStreams);
}

}  // namespace
}  // namespace peal
