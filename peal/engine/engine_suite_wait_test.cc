// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, waiting: deadlines, wake() from any thread at any time, and shutting down.
#include <atomic>
#include <thread>
#include <vector>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineWait : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineWait, testing::ValuesIn(every_engine()), engine_label);

TEST_P(EngineWait, lasts_until_the_deadline_without_an_event) {
  rig().settle();
  // A signal may end a wait early. The kernel sends some signals to a process that has just closed a ring, until it has
  // finished closing it; so some round is undisturbed. A deadline that is rounded down would also end waits early, but
  // hundreds of them in every round.
  constexpr int kFew = 20;
  constexpr int kRounds = 100;
  int early = kFew + 1;
  for (int round = 0; round < kRounds && early > kFew; ++round) {
    early = 0;
    for (Duration bound : {Duration(100'000), Duration(1'000'001), Duration(7'300'000), Duration(20'000'000)}) {
      TimePoint deadline = rig().engine().now() + bound;
      EXPECT_EQ(rig().wait(deadline), 0U);
      for (; rig().engine().now() < deadline; ++early) EXPECT_EQ(rig().wait(deadline), 0U);
    }
  }
  EXPECT_LE(early, kFew);
}

TEST_P(EngineWait, deadline_in_the_past_is_a_look_only) {
  rig().settle();
  EXPECT_EQ(rig().wait(rig().engine().now() - std::chrono::seconds(1)), 0U);
  EXPECT_EQ(rig().wait(Engine::kPollOnly), 0U);
  EXPECT_EQ(rig().wait(TimePoint{}), 0U);
}

// An engine may have a means to make repeated deadlines cheap. It must neither lose a deadline nor keep an old one.
TEST_P(EngineWait, deadline_that_many_waits_have_had_still_ends_one) {
  auto waker = rig().engine().waker();
  const auto wake_often = [&](TimePoint deadline) {
    for (int i = 0; i < 12; ++i) {
      waker->wake();
      rig().wait(deadline);
    }
  };
  const auto lasts_until = [&](TimePoint deadline) {
    while (rig().engine().now() < deadline) rig().wait(deadline);
  };
  const TimePoint start = rig().engine().now();
  const auto at = [&](int milliseconds) { return start + std::chrono::milliseconds(milliseconds); };
  wake_often(at(60'000));  // A deadline that is never reached.
  wake_often(at(30));
  lasts_until(at(20));  // An earlier deadline, of one wait.
  wake_often(at(25));   // An earlier deadline, of many waits.
  lasts_until(at(25));
  lasts_until(at(30));
  wake_often(at(40));
  lasts_until(at(45));  // A later deadline than that of the waits before.
  wake_often(rig().engine().now() - std::chrono::seconds(1));
  EXPECT_EQ(rig().wait(Engine::kPollOnly), 0U);
  waker->wake();
  EXPECT_EQ(rig().wait(kNever), 1U);
}

TEST_P(EngineWait, wake_before_the_wait_ends_it) {
  auto waker = rig().engine().waker();
  waker->wake();
  EXPECT_EQ(rig().wait(kNever), 1U);
  EXPECT_EQ(rig().stats().wakeups, 1U);
  EXPECT_EQ(rig().wait(Engine::kPollOnly), 0U);
}

TEST_P(EngineWait, wake_from_another_thread_ends_it) {
  auto waker = rig().engine().waker();
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> woken = false;
    std::thread other([&] {
      woken = true;
      waker->wake();
    });
    while (!woken) rig().wait(kNever);
    other.join();
    rig().settle();
  }
  EXPECT_GE(rig().stats().wakeups, 1U);
  EXPECT_LE(rig().stats().wakeups, 50U);
}

TEST_P(EngineWait, storm_of_wakes_is_one_event) {
  auto waker = rig().engine().waker();
  for (int i = 0; i < 100'000; ++i) waker->wake();
  EXPECT_EQ(rig().wait(kNever), 1U);
  EXPECT_EQ(rig().wait(Engine::kPollOnly), 0U);
  EXPECT_EQ(rig().stats().wakeups, 1U);
  waker->wake();
  EXPECT_EQ(rig().wait(kNever), 1U);
}

TEST_P(EngineWait, no_announcement_is_lost_in_a_storm_of_wakes) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 2'000;
  std::atomic<int> announced = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&announced, waker = rig().engine().waker()] {
      for (int i = 0; i < kRounds; ++i) {
        announced.fetch_add(1, std::memory_order_relaxed);
        waker->wake();
      }
    });
  }
  // The counter is read after each wait, so a wait() that missed the last wake() would never return.
  while (announced.load(std::memory_order_relaxed) < kThreads * kRounds) rig().wait(kNever);
  for (auto& thread : threads) thread.join();
}

TEST_P(EngineWait, wake_gets_through_a_firehose) {
  auto [hose, flooded] = rig().pair();
  flooded.receive();
  auto waker = rig().engine().waker();
  for (uint64_t round = 1; round <= 10; ++round) {
    waker->wake();
    for (int trip = 0; trip < 10 && rig().stats().wakeups < round; ++trip) {
      if (hose.queued() < 1'000'000) hose.send_blocks(Buffer(std::string(4'000'000, 'x')));
      rig().wait(kNever);
      flooded.received.clear();
    }
    ASSERT_EQ(rig().stats().wakeups, round);
  }
}

TEST_P(EngineWait, waker_outlives_the_engine) {
  auto waker = rig().engine().waker();
  rig().shut();
  waker->wake();
  std::thread other([waker, &engine = rig_] {
    (void)engine;
    for (int i = 0; i < 1'000; ++i) waker->wake();
  });
  rig_.reset();
  waker->wake();
  other.join();
}

TEST_P(EngineWait, what_was_sent_before_it_leaves_even_when_it_only_looks) {
  auto [client, server] = rig().pair();
  client.send("now");
  rig().wait(Engine::kPollOnly);
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.received == "now"; }));
}

TEST_P(EngineWait, runs_once_what_is_to_be_done_before_it) {
  auto [client, server] = rig().pair();
  server.receive();
  int runs = 0;
  rig().engine().before_wait([&, &from = client] {
    ++runs;
    rig().engine().send_copy(from.id, "sealed");
    return false;
  });
  rig().settle();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(server.received, "sealed") << "it was queued before what is queued is sent";
}

// A callback may have set a timer since the caller computed the deadline of the wait. So a wait before which a callback
// was called must not sleep, nor the one after it.
TEST_P(EngineWait, does_not_sleep_when_that_told_anybody_anything) {
  std::string order;
  rig().engine().before_wait([&] {
    order += "first ";
    rig().engine().before_wait([&] {
      order += "second";
      return true;
    });
    return true;
  });
  EXPECT_EQ(order, "") << "run inside the call";
  const TimePoint far = rig().engine().now() + std::chrono::hours(1);
  rig().wait(far);
  rig().wait(far);
  EXPECT_EQ(order, "first second");
  EXPECT_LT(rig().engine().now(), far);
}

TEST_P(EngineWait, counts_what_was_told_before_it) {
  rig().engine().before_wait([] { return true; });
  EXPECT_GT(rig().wait(Engine::kPollOnly), 0U);
  auto [client, server] = rig().pair();
  rig().settle();
  client.send("x");
  client.report_sent();
  EXPECT_GT(rig().wait(Engine::kPollOnly), 0U);
  EXPECT_EQ(client.sent_reports, std::vector<size_t>{0});
}

TEST_P(EngineWait, what_is_to_be_done_before_it_is_done_before_the_shutdown_too) {
  bool ran = false;
  rig().engine().before_wait([&] { return ran = true; });
  rig().shut();
  EXPECT_TRUE(ran);
}

TEST_P(EngineWait, shut_delivers_every_last_completion) {
  AcceptLog& acceptor = rig().listen();
  auto [client, server] = rig().pair();
  auto [paused_client, paused] = rig().pair();
  auto [busy_client, busy] = rig().pair();
  auto [leaving_client, leaving] = rig().pair();
  auto [closing_client, closing] = rig().pair();
  client.receive();
  server.receive();
  paused.receive();
  paused.when_received = [&, &stream = paused] { stream.receive(false); };
  paused_client.send_blocks(Buffer(pattern(500'000)));
  busy.send_blocks(Buffer(pattern(10'000'000)));
  leaving.send_blocks(Buffer(pattern(10'000'000)));
  rig().settle();
  leaving.detach();
  closing.close();
  StreamLog& connecting = rig().connect(acceptor.address);
  AcceptLog& stopping = rig().listen();
  stopping.stop();
  client.send("never to leave");
  rig().shut();
  for (StreamLog* stream : {&client, &server, &paused_client, &paused, &busy_client, &busy, &closing, &connecting}) {
    EXPECT_TRUE(stream->closed) << stream->name();
  }
  EXPECT_TRUE(leaving.finished());
  EXPECT_TRUE(acceptor.stopped);
  EXPECT_TRUE(stopping.stopped);
}

TEST_P(EngineWait, completions_of_shut_may_call_down) {
  auto [client, server] = rig().pair();
  auto [other_client, other] = rig().pair();
  bool told = false;
  auto close_all = [&, all = {&client, &server, &other_client, &other}] {
    if (std::exchange(told, true)) return;
    for (StreamLog* stream : all) {
      rig().engine().send_copy(stream->id, "too late");
      rig().engine().close(stream->id);
    }
    rig().connect(address_of("127.0.0.1:9"), "latecomer");
  };
  for (StreamLog* stream : {&client, &server, &other_client, &other}) {
    stream->when_closed = close_all;
    stream->receive();
  }
  client.send("x");
  rig().shut();
  EXPECT_TRUE(told);
}

TEST_P(EngineWait, thousand_connections_come_and_go) {
  AcceptLog& acceptor = rig().listen();
  size_t fds = count_open_fds();
  uint64_t accepted = 0;
  for (int wave = 0; wave < 20; ++wave) {
    int open = 0;
    auto serve = [&] {
      StreamLog& server = rig().adopt(std::move(acceptor.accepted.back()));
      acceptor.accepted.pop_back();
      ++open;
      server.receive();
      server.when_received = [&server] { server.send(server.received); };
      server.when_ended = [&server] { server.close(); };
      server.when_closed = [&] { --open; };
    };
    acceptor.when_accepted = serve;
    for (int i = 0; i < 50; ++i) {
      StreamLog& client = rig().connect(acceptor.address);
      ++open;
      client.receive();
      client.send("ping");
      client.when_received = [&client, i] {
        if (client.received.size() == 4) client.close(i % 2 == 0 ? CloseHow::kNormal : CloseHow::kReset);
      };
      client.when_closed = [&] { --open; };
    }
    accepted += 50;
    ASSERT_TRUE(rig().run_until([&] { return open == 0 && rig().stats().accepts == accepted; }));
  }
  EXPECT_EQ(count_open_fds(), fds);
  EXPECT_EQ(rig().stats().stale_calls, 0U);
}

}  // namespace
}  // namespace peal
