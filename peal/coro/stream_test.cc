// SPDX-License-Identifier: BSD-3-Clause
// Tests of Stream: reading, writing, deadlines, and every way in which it ends. The peers are raw sockets, which the
// simulator does not have, so the tests do not run there.
#include <peal/coro/stream.h>

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/coro/when.h>
#include <tests/support/engines/co_server_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;
using test::told;
using testing::ElementsAre;

class StreamTest : public test::CoServerTest {};

TEST_P(StreamTest, reads_what_comes_until_the_end) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read()));
    co_await stream.write("bye");
  });
  RawPeer peer = RawPeer::connected(address);
  peer.send("one");
  ASSERT_TRUE(noted("one"));
  peer.send("two");
  ASSERT_TRUE(noted("two"));
  peer.fin();
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_EQ(peer.received(), "bye");
  EXPECT_TRUE(peer.ended());
  EXPECT_THAT(journal.lines(), ElementsAre("one", "two", "end"));
}

TEST_P(StreamTest, writes_go_out_in_the_order_of_the_calls_whenever_they_are_awaited) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    auto first = stream.write("one ");
    journal.add(told(co_await stream.write("two")));
    journal.add(told(co_await first));
  });
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_EQ(peer.received(), "one two");
  EXPECT_THAT(journal.lines(), ElementsAre("done", "done"));
}

TEST_P(StreamTest, messages_are_cut_where_they_end) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.read_until("\r\n")));
    journal.add(told(co_await stream.read_exactly(4)));
    journal.add(told(co_await stream.read_until("\n", 5)));
    journal.add(told(co_await stream.read_exactly(6)));
    journal.add(told(co_await stream.read_exactly(10)));
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read_until("\n")));
  });
  RawPeer peer = RawPeer::connected(address);
  for (const char byte : std::string("a line\r\nfourtoo long")) {
    peer.send(std::string_view(&byte, 1));
    ask([] {});
  }
  peer.fin();
  ASSERT_TRUE(noted("end"));
  EXPECT_THAT(journal.lines(), ElementsAre("a line\r\n", "four", told(EMSGSIZE), "too lo", told(ENODATA), "ng", "end"));
}

TEST_P(StreamTest, every_await_has_a_deadline) {
  ServerOptions small;
  small.connection.high_water_bytes = 1000;
  auto address = serve_tasks(
      [this](Stream stream) -> Task<> {
        constexpr Duration kSoon = milliseconds(2);
        journal.add(told(co_await stream.read().within(kSoon)));
        journal.add(told(co_await stream.read_until("\n").within(kSoon)));
        journal.add(told(co_await stream.read_exactly(2).within(kSoon)));
        const std::string much(32 * 1024 * 1024, 'x');
        journal.add(told(co_await stream.write(much).within(kSoon)));
        journal.add(told(co_await stream.write("behind").within(kSoon)));
        journal.add(told(co_await stream.flush().within(kSoon)));
        stream.abort();
      },
      small);
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(wait_until([this] { return journal.lines().size() == 6; }));
  EXPECT_EQ(journal.count(told(ETIMEDOUT)), 6u);
}

TEST_P(StreamTest, a_server_that_dies_cancels_every_wait_once) {
  ServerOptions small;
  small.connection.high_water_bytes = 1000;
  auto address = serve_tasks(
      [this](Stream stream) -> Task<> {
        const std::string much(32 * 1024 * 1024, 'x');
        auto reads = [&]() -> Task<> { journal.add("read " + told(co_await stream.read())); };
        auto writes = [&]() -> Task<> { journal.add("write " + told(co_await stream.write(much))); };
        auto queues = [&]() -> Task<> { journal.add("queue " + told(co_await stream.write("more"))); };
        auto flushes = [&]() -> Task<> { journal.add("flush " + told(co_await stream.flush())); };
        auto sleeps = [&]() -> Task<> { journal.add("sleep " + told(co_await sleep(hours(1)))); };
        journal.add("waiting");
        co_await when_all(reads(), writes(), queues(), flushes(), sleeps());
        journal.add("ended");
      },
      small);
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(noted("waiting"));
  ask([] {});
  server_.reset();
  ASSERT_TRUE(noted("ended"));
  EXPECT_EQ(journal.lines().size(), 7u);
  EXPECT_EQ(journal.count("sleep " + told(ECANCELED)), 1u);
}

TEST_P(StreamTest, a_reset_ends_reads_and_writes) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.write("late")));
    journal.add(told(co_await stream.flush()));
    journal.add(std::string(to_string(stream.close_reason().value_or(CloseReason::kLocal))));
    stream.handle().send("nobody hears");
    stream.close();
    journal.add("over");
  });
  RawPeer peer = RawPeer::connected(address);
  peer.send("hello");
  ASSERT_TRUE(noted("hello"));
  peer.reset();
  ASSERT_TRUE(noted("over"));
  EXPECT_THAT(journal.lines(), ElementsAre("hello", told(ECONNRESET), told(ECONNRESET), told(ECONNRESET),
                                           std::string(to_string(CloseReason::kReset)), "over"));
}

TEST_P(StreamTest, an_end_in_order_is_no_reset_though_nobody_was_reading) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    stream.shutdown_send();
    while (!stream.close_reason()) co_await sleep(milliseconds(1));
    const auto line = co_await stream.read_until("\n");
    journal.add(told(co_await stream.read()));
    journal.add(told(co_await stream.read()));
    EXPECT_EQ(error_of(line), errno_code(ENODATA));
    journal.add(told(co_await stream.write("late")));
    journal.add("over");
  });
  RawPeer peer = RawPeer::connected(address);
  peer.send("unfinished");
  peer.fin();
  ASSERT_TRUE(noted("over"));
  EXPECT_THAT(journal.lines(), ElementsAre("unfinished", "end", told(ECONNRESET), "over"));
}

TEST_P(StreamTest, close_here_ends_the_waits_of_others) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    auto reads = [&]() -> Task<> { journal.add(told(co_await stream.read())); };
    auto closes = [&]() -> Task<> {
      co_await sleep({});
      stream.close();
      journal.add(told(co_await stream.write("late")));
    };
    co_await when_all(reads(), closes());
    journal.add("over");
  });
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(noted("over"));
  EXPECT_THAT(journal.lines(), testing::UnorderedElementsAre(told(ESHUTDOWN), told(ESHUTDOWN), "over"));
}

TEST_P(StreamTest, input_that_nobody_reads_stays_bounded_and_arrives_whole) {
  bool go = false;
  size_t total = 0;
  auto address = serve_tasks([&](Stream stream) -> Task<> {
    while (!go) co_await sleep(milliseconds(1));
    for (;;) {
      auto input = co_await stream.read();
      if (!input || input->empty()) break;
      total += input->size();
    }
    journal.add("end");
  });
  RawPeer peer = RawPeer::connected(address);
  const std::string chunk(256 * 1024, 'x');
  size_t sent = 0;
  // Sends until the kernel takes no more: the receiver's buffers and the sender's are full.
  int idle = 0;
  ASSERT_TRUE(wait_until([&] {
    const size_t more = peer.try_send(chunk);
    sent += more;
    idle = more == 0 ? idle + 1 : 0;
    return idle > 20;
  }));
  EXPECT_LT(ask([&] { return loop().engine().stats().received_bytes; }), 2 * 1024 * 1024u);
  ask([&] { go = true; });
  peer.fin();
  ASSERT_TRUE(noted("end"));
  EXPECT_EQ(total, sent);
}

TEST_P(StreamTest, flush_waits_until_the_kernel_has_all) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    co_await stream.write(std::string(100'000, 'x'));
    journal.add(told(co_await stream.flush()));
    journal.add(std::to_string(stream.connection()->queued_bytes()));
    journal.add(told(co_await stream.flush()));
  });
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_EQ(peer.received().size(), 100'000u);
  EXPECT_THAT(journal.lines(), ElementsAre("done", "0", "done"));
}

// All of the output leaves in one step of the loop. The report that the first message has left must not end a flush
// that waits for the later ones.
TEST_P(StreamTest, flush_waits_for_writes_that_wait_themselves) {
  ServerOptions small;
  small.connection.high_water_bytes = 1000;
  auto address = serve_tasks(
      [this](Stream stream) -> Task<> {
        const std::string much(3'000'000, 'x');
        auto writes = [&](std::string_view what) -> Task<> {
          journal.add("write " + told(co_await stream.write(what)));
        };
        auto flushes = [&]() -> Task<> {
          journal.add("flush " + told(co_await stream.flush()));
          EXPECT_EQ(stream.connection()->queued_bytes(), 0u);
        };
        co_await when_all(writes(much), writes("behind"), writes("and more"), flushes());
      },
      small);
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_EQ(peer.received().size(), 3'000'014u);
  EXPECT_THAT(journal.lines(), ElementsAre("write done", "write done", "write done", "flush done"));
}

TEST_P(StreamTest, an_exception_closes_its_connection_alone) {
  auto address = serve_tasks([](Stream stream) -> Task<> {
    auto input = co_await stream.read();
    if (input && input->to_string() == "throw") throw std::runtime_error("asked to");
    if (input) co_await stream.write(std::move(*input));
    co_await stream.read();
  });
  RawPeer bad = RawPeer::connected(address);
  RawPeer good = RawPeer::connected(address);
  bad.send("throw");
  ASSERT_TRUE(wait_until([&] { return !bad.pump(); }));
  good.send("hello");
  ASSERT_TRUE(wait_until([&] { return good.pump() && good.received() == "hello"; }));
  EXPECT_EQ(server_->stats().exceptions, 1u);
}

TEST_P(StreamTest, the_loop_stops_while_tasks_wait) {
  auto address = serve_tasks([this](Stream stream) -> Task<> {
    auto reads = [&]() -> Task<> { journal.add(told(co_await stream.read())); };
    auto sleeps = [&]() -> Task<> { journal.add(told(co_await sleep(hours(1)))); };
    journal.add("waiting");
    co_await when_all(reads(), sleeps());
    journal.add("ended");
  });
  RawPeer peer = RawPeer::connected(address);
  ASSERT_TRUE(noted("waiting"));
  end_loop();
  EXPECT_EQ(journal.count("error: " + std::error_code(Trouble::kLoopStopped).message()), 2u);
  EXPECT_EQ(journal.count("ended"), 1u);
}

TEST_P(StreamTest, a_group_serves_on_every_loop) {
  auto group = LoopGroup::start(2, group_options()).value();
  {
    ServerOptions round = group_server();
    round.accept = AcceptMode::kRoundRobin;
    CoServer server(
        *group,
        [](Stream stream) -> Task<> {
          while (auto input = co_await stream.read()) {
            if (input->empty() || !co_await stream.write(std::move(*input))) break;
          }
        },
        round);
    const SocketAddress address = server.listen("127.0.0.1:0").value();
    std::vector<RawPeer> peers;
    for (int i = 0; i < 8; ++i) peers.push_back(RawPeer::connected(address));
    for (RawPeer& peer : peers) peer.send("hello");
    for (RawPeer& peer : peers) {
      ASSERT_TRUE(wait_until([&] { return peer.pump() && peer.received() == "hello"; }));
    }
  }
  group->stop();
  group->join();
}

PEAL_TEST_ON_EVERY_PORT(StreamTest);

// Otherwise the second read would take the input, and the task of the first read would find none and report the peer's
// end.
TEST(StreamDeathTest, a_read_that_was_cancelled_lasts_until_its_task_is_resumed) {
  auto serve = [](Stream stream) -> Task<> {
    Scope scope(stream.connection()->loop());
    auto reads = [&stream]() -> Task<> { co_await stream.read(); };
    scope.spawn(reads());
    co_await sleep(milliseconds(1));
    scope.cancel();
    co_await stream.read();
  };
  EXPECT_DEATH(
      {
        Loop loop;
        CoServer server(loop, serve);
        RawPeer peer;
        peer.connect(server.listen("127.0.0.1:0").value());
        static_cast<void>(loop.run());
      },
      "two coroutines read one stream");
}

}  // namespace
}  // namespace peal
