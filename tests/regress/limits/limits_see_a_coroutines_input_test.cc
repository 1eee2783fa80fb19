// SPDX-License-Identifier: BSD-3-Clause
// Input that had arrived for a coroutine and was not read yet lay in its stream, where no limit saw it:
// - Ten connections inside read_exactly(16 MiB) held 160 MiB, above a hard memory mark of 32 MiB. A connection with
//   callbacks was ended in their place.
// - input_limit_bytes and min_read_bytes had no effect on them.
// - A drain cut them off in the middle of a request, and a full server evicted them as idle.
//
// Now the connection keeps this input, as it keeps what a callback leaves.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/coro/co_server.h>
#include <peal/net/client.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr size_t kMebibyte = 1024 * 1024;

class CoroutineInput : public test::SimTest {
 protected:
  // A coroutine server and one client, which sends `sends` as soon as it is connected.
  struct Line {
    Line(test::SimPair& its_pair, CoServer::Serve serve, const ServerOptions& options, std::string sends)
        : pair(its_pair),
          server(*pair.here, std::move(serve), options),
          client(*pair.there, {.on_open =
                                   [this, sends = std::move(sends)](Connection& connection) {
                                     there = connection.handle();
                                     connection.send(sends);
                                   },
                               .on_message = test::hearing(heard),
                               .on_close = [this](Connection&, CloseReason why) { ended = why; }}) {
      address = pair.listen(server);
      EXPECT_TRUE(client.connect(address));
    }
    ConnectionFacts facts() {
      const auto all = server.server().views().front().list(1);
      return all.empty() ? ConnectionFacts() : all.front();
    }
    test::SimPair& pair;
    CoServer server;
    Client client;
    SocketAddress address;
    ConnectionHandle there;
    std::string heard;
    std::optional<CloseReason> ended;
  };
  // Returns a task that works for `works` on each line and then answers it.
  static CoServer::Serve answers_lines(Duration works, std::string_view answer) {
    return [works, answer](Stream stream) -> Task<> {
      for (;;) {
        auto line = co_await stream.read_until("\n");
        if (!line || line->empty()) co_return;
        co_await sleep(works);
        co_await stream.write(answer);
      }
    };
  }
};

TEST_F(CoroutineInput, counts_and_ends_the_connection_at_its_limit) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    std::error_code error;
    std::optional<CloseReason> reason;
    ServerOptions options;
    options.connection.input_limit_bytes = kMebibyte / 4;
    Line line(
        pair,
        [&](Stream stream) -> Task<> {
          auto message = co_await stream.read_exactly(kMebibyte);
          if (!message) error = message.error();
          reason = stream.close_reason();
        },
        options, std::string(kMebibyte / 8, 'x'));
    ASSERT_TRUE(pair.run_until([&] { return line.facts().kept_bytes == kMebibyte / 8; }));
    line.there.send(std::string(kMebibyte / 4, 'x'));
    ASSERT_TRUE(pair.run_until([&] { return error.value() != 0; }));
    EXPECT_EQ(error, std::errc::connection_aborted);
    EXPECT_EQ(reason, CloseReason::kInputLimit);
  });
}

TEST_F(CoroutineInput, is_ended_when_the_process_holds_too_much) {
  on_seeds(10, rough(), [&](test::SimPair& pair) {
    constexpr int kPeers = 10;
    int ended = 0;
    CoServer server(*pair.here, [&](Stream stream) -> Task<> {
      co_await stream.read_exactly(16 * kMebibyte);
      ended += stream.close_reason() == CloseReason::kMemoryBudget;
    });
    const SocketAddress address = pair.listen(server);
    MemoryBudget::set({.soft_bytes = 2 * kMebibyte, .hard_bytes = 4 * kMebibyte});
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < kPeers; ++i) {
      clients.push_back(
          std::make_unique<Client>(*pair.there, ConnectionCallbacks{.on_open = [](Connection& connection) {
            // Sends only if nothing is queued. This side shares the thread and its memory budget, so it must hold
            // little.
            connection.loop().every(std::chrono::milliseconds(1), [handle = connection.handle()] {
              handle.run([](Connection& sender) {
                if (sender.queued_bytes() == 0) sender.send(std::string(20'000, 'x'));
              });
            });
          }}));
      ASSERT_TRUE(clients.back()->connect(address));
    }
    EXPECT_TRUE(pair.run_until([&] { return ended > 0; }));
    EXPECT_GT(server.stats().memory_closes, 0U);
  });
}

// If a connection is ended because of its memory, the input that nobody has read is freed, although the task still has
// the stream.
TEST_F(CoroutineInput, is_freed_with_a_connection_ended_by_the_memory_budget) {
  on_seeds(10, rough(), [&](test::SimPair& pair) {
    std::error_code error;
    bool wakes = false;
    Line line(
        pair,
        [&](Stream stream) -> Task<> {
          co_await stream.read_exactly(1);
          co_await sleep(std::chrono::seconds(60));
          wakes = true;
          auto more = co_await stream.read();
          if (!more) error = more.error();
        },
        {}, std::string(50'000, 'x'));
    ASSERT_TRUE(pair.run_until([&] { return line.facts().kept_bytes == 49'999; }));
    const uint64_t held = MemoryBudget::held_bytes();
    MemoryBudget::set({.soft_bytes = held / 4, .hard_bytes = held / 2});
    line.there.run([](Connection& sender) { sender.send("more"); });
    ASSERT_TRUE(pair.run_until([&] { return line.server.stats().memory_closes > 0; }));
    pair.run_for(std::chrono::seconds(1));
    EXPECT_FALSE(wakes);
    EXPECT_LT(BlockPool::here().stats().bytes_in_use, 49'999U);
    MemoryBudget::set(MemoryBudget::default_marks());
    ASSERT_TRUE(pair.run_until([&] { return error.value() != 0; }));
    EXPECT_EQ(error, std::errc::connection_aborted);
  });
}

class CoroutineInputOverBudget : public CoroutineInput {
 protected:
  // Calls `test` with a connection whose task waits for the end of a line and has at least 100,000 bytes of it. Reading
  // from the connection is paused, because the process holds too much. `error` is the error of the task's read. `whole`
  // is true once the task has the line.
  struct Paused {
    Line& line;
    const std::error_code& error;
    const bool& whole;
  };
  void on_paused(const std::function<void(test::SimPair&, const Paused&)>& test) {
    on_seeds(10, rough(), [&](test::SimPair& pair) {
      std::error_code error;
      bool whole = false;
      Line line(
          pair,
          [&](Stream stream) -> Task<> {
            auto message = co_await stream.read_until("\n", 100 * kMebibyte);
            if (message) {
              whole = true;
            } else {
              error = message.error();
            }
          },
          {}, std::string(100'000, 'x'));
      ASSERT_TRUE(pair.run_until([&] { return line.facts().kept_bytes == 100'000; }));
      BlockPool::here().trim();  // frees what earlier tests have left
      MemoryBudget::set({.soft_bytes = MemoryBudget::held_bytes() / 2, .hard_bytes = 100 * kMebibyte});
      for (int i = 0; i < 100 && line.server.stats().memory_pauses == 0; ++i) {
        line.there.send(std::string(10'000, 'x'));
        pair.run_for(std::chrono::milliseconds(10));
      }
      ASSERT_GT(line.server.stats().memory_pauses, 0U);
      test(pair, {line, error, whole});
      MemoryBudget::set(MemoryBudget::default_marks());
    });
  }
};

// Before, a process that stayed between the marks ended no connection and read from none of them again.
TEST_F(CoroutineInputOverBudget, is_read_again_if_the_process_stays_between_the_marks) {
  on_paused([](test::SimPair& pair, const Paused& paused) {
    paused.line.there.send("\n");
    pair.run_for(std::chrono::milliseconds(500));
    BlockPool::here().trim();
    const uint64_t held = MemoryBudget::held_bytes();
    MemoryBudget::set({.soft_bytes = held + held / 8, .hard_bytes = 100 * kMebibyte});
    ASSERT_FALSE(MemoryBudget::below_low());
    pair.run_for(std::chrono::seconds(2));
    EXPECT_FALSE(paused.whole);
    EXPECT_TRUE(pair.run_until([&] { return paused.whole; }));
    EXPECT_EQ(paused.line.server.stats().memory_closes, 0U);
  });
}

TEST_F(CoroutineInputOverBudget, is_dropped_with_an_error_when_the_peer_has_reset) {
  on_paused([](test::SimPair& pair, const Paused& paused) {
    paused.line.there.abort();
    pair.run_for(std::chrono::seconds(2));
    EXPECT_EQ(paused.error, std::errc::connection_reset);
  });
}

// A peer that sends more than the limit at once is only slowed down, if each of its messages is below the limit.
TEST_F(CoroutineInput, of_many_small_messages_may_exceed_the_limit) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    ServerOptions options;
    options.connection.input_limit_bytes = 1024;
    std::string questions;
    for (int i = 0; i < 300; ++i) questions += "a line of 20 bytes..\n";
    Line line(pair, answers_lines(std::chrono::milliseconds(1), "!"), options, questions);
    EXPECT_TRUE(pair.run_until([&] { return line.heard.size() == 300; }));
    EXPECT_FALSE(line.ended);
  });
}

// A peer whose half message does not grow is too slow. While the coroutine works, the peer does not have to send.
TEST_F(CoroutineInput, must_come_fast_enough_while_the_task_waits_for_it) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    ServerOptions options;
    options.connection.min_read_bytes = 100;
    options.connection.read_window = std::chrono::seconds(1);
    std::optional<CloseReason> reason;
    TimePoint waits_from{};
    TimePoint ended_at{};
    Line line(
        pair,
        [&](Stream stream) -> Task<> {
          co_await stream.read_exactly(10);
          co_await sleep(std::chrono::seconds(20));
          waits_from = pair.world.now();
          co_await stream.read_exactly(1000);
          ended_at = pair.world.now();
          reason = stream.close_reason();
        },
        options, "0123456789 and a part");
    ASSERT_TRUE(pair.run_until([&] { return waits_from != TimePoint{}; }));
    EXPECT_FALSE(line.ended);
    ASSERT_TRUE(pair.run_until([&] { return ended_at != TimePoint{}; }));
    EXPECT_EQ(reason, CloseReason::kReadTooSlow);
    EXPECT_GE(ended_at, waits_from + options.connection.read_window);
  });
}

TEST_F(CoroutineInput, is_answered_by_a_server_that_drains) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    const auto serve = [] { return answers_lines(std::chrono::milliseconds(500), "answer\n"); };
    Line works(pair, serve(), {}, "question\n");
    Line half(pair, serve(), {}, "ques");
    Line idle(pair, serve(), {}, "");
    ASSERT_TRUE(pair.run_until([&] { return works.facts().received_bytes > 0 && half.facts().kept_bytes == 4; }));
    ASSERT_TRUE(pair.run_until([&] { return idle.facts().state == "open"; }));
    int drained = 0;
    for (Line* line : {&works, &half, &idle}) {
      line->server.server().drain(std::chrono::seconds(30), [&](const DrainReport& report) {
        ++drained;
        EXPECT_EQ(report.forced, 0U);
      });
    }
    ASSERT_TRUE(pair.run_until([&] { return idle.ended.has_value() && works.ended.has_value(); }));
    EXPECT_EQ(works.heard, "answer\n");
    EXPECT_FALSE(half.ended);
    half.there.send("tion\n");
    ASSERT_TRUE(pair.run_until([&] { return drained == 3; }));
    EXPECT_EQ(half.heard, "answer\n");
  });
}

TEST_F(CoroutineInput, is_not_idle_when_the_server_is_full) {
  on_seeds(30, rough(), [](test::SimPair& pair) {
    ServerOptions options;
    options.max_connections = 3;
    const auto serve = [](Stream stream) -> Task<> {
      auto line = co_await stream.read_until("\n");
      co_await sleep(std::chrono::hours(1));  // the task is busy
    };
    Line half(pair, serve, options, "ques");
    ASSERT_TRUE(pair.run_until([&] { return half.facts().kept_bytes == 4; }));
    std::vector<std::optional<CloseReason>> ended(3);
    std::vector<std::unique_ptr<Client>> clients;
    const auto connect = [&](size_t i, std::string_view sends) {
      clients.push_back(std::make_unique<Client>(
          *pair.there, ConnectionCallbacks{.on_open = [sends](Connection& connection) { connection.send(sends); },
                                           .on_close = [&ended, i](Connection&, CloseReason why) { ended[i] = why; }}));
      EXPECT_TRUE(clients.back()->connect(half.address));
      pair.run_for(std::chrono::seconds(1));
    };
    connect(0, "question\n");
    connect(1, "");
    connect(2, "");  // takes the place of client 1, which has sent nothing
    EXPECT_FALSE(half.ended);
    EXPECT_FALSE(ended[0]);
    EXPECT_TRUE(ended[1]);
    EXPECT_FALSE(ended[2]);
  });
}

}  // namespace
}  // namespace peal
