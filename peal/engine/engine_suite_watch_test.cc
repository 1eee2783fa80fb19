// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, watching fds of the application for readiness, level-triggered. The simulator does it,
// too.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include <peal/engine/listening_socket.h>
#include <tests/support/engine_rig.h>
#include <tests/support/engines/socket_pair.h>

namespace peal {
namespace {

struct Pipe {
  Pipe() { std::tie(out, in) = test::pipe_ends(O_NONBLOCK | O_CLOEXEC); }
  void write(std::string_view bytes) {
    EXPECT_EQ(::write(in.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  size_t read() {
    std::array<char, 65'536> room;
    ssize_t got = ::read(out.get(), room.data(), room.size());
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  size_t fill() {
    const std::string page(4096, 'x');
    size_t pages = 0;
    while (::write(in.get(), page.data(), page.size()) > 0) ++pages;
    return pages;
  }
  Fd out;
  Fd in;
};

// Returns the two ends of a unix stream.
struct Ends {
  Ends() { std::tie(near, far) = test::socket_pair(); }
  void fill_near() {
    const std::string bytes = pattern(64 * 1024);
    while (::send(near.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) continue;
  }
  void drain_far() {
    std::array<char, 65'536> room;
    while (::recv(far.get(), room.data(), room.size(), 0) > 0) continue;
  }
  Fd near;
  Fd far;
};

class EngineWatch : public EngineTest {
 protected:
  testing::AssertionResult unwatches(WatchLog& watch) {
    watch.unwatch();
    return rig().run_until([&] { return watch.unwatched; });
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EngineWatch, testing::ValuesIn(every_engine()), engine_label);

TEST_P(EngineWatch, readable_is_told_again_until_it_is_read) {
  Pipe pipe;
  WatchLog& watch = rig().watch(pipe.out.get(), true, false);
  rig().settle();
  EXPECT_EQ(watch.readable_count, 0);
  pipe.write("abc");
  for (int times = 1; times <= 5; ++times) {
    ASSERT_TRUE(rig().run_until([&] { return watch.readable_count >= times; }));
  }
  EXPECT_EQ(pipe.read(), 3U);
  rig().settle();
  int told = watch.readable_count;
  rig().settle();
  EXPECT_EQ(watch.readable_count, told);
  pipe.write("d");
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count > told; }));
  EXPECT_EQ(watch.writable_count, 0);
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, ready_before_it_was_watched) {
  Pipe pipe;
  pipe.write("early");
  WatchLog& watch = rig().watch(pipe.out.get(), true, false);
  EXPECT_EQ(watch.readable_count, 0) << "told inside the call";
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count > 0; }));
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, writable_when_there_is_room_again) {
  Pipe pipe;
  ASSERT_GT(pipe.fill(), 0U);
  WatchLog& watch = rig().watch(pipe.in.get(), false, true);
  rig().settle();
  EXPECT_EQ(watch.writable_count, 0);
  EXPECT_GT(pipe.read(), 0U);
  ASSERT_TRUE(rig().run_until([&] { return watch.writable_count > 1; }));
  EXPECT_EQ(watch.readable_count, 0);
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, hang_up_counts_as_ready) {
  Pipe reader;
  Pipe writer;
  WatchLog& reads = rig().watch(reader.out.get(), true, false);
  WatchLog& writes = rig().watch(writer.in.get(), false, true);
  reads.when_ready = [&] { reads.unwatch(); };
  writes.when_ready = [&] { writes.unwatch(); };
  reader.in.reset();
  writer.fill();
  writer.out.reset();
  ASSERT_TRUE(rig().run_until([&] { return reads.unwatched && writes.unwatched; }));
  EXPECT_EQ(reads.readable_count, 1);
  EXPECT_EQ(reads.writable_count, 0) << "nobody asked";
  EXPECT_EQ(writes.writable_count, 1);
  EXPECT_EQ(writes.readable_count, 0) << "nobody asked";
}

TEST_P(EngineWatch, both_directions_of_a_socket) {
  Ends ends;
  WatchLog& watch = rig().watch(ends.near.get(), true, true);
  ASSERT_TRUE(rig().run_until([&] { return watch.writable_count > 0; }));
  EXPECT_EQ(watch.readable_count, 0);
  ASSERT_EQ(::write(ends.far.get(), "x", 1), 1);
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count > 0; }));
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, fin_is_no_news_to_who_waits_for_room) {
  Ends ends;
  ends.fill_near();
  ASSERT_EQ(::shutdown(ends.far.get(), SHUT_WR), 0);
  WatchLog& watch = rig().watch(ends.near.get(), false, true);
  int told = 0;
  watch.when_ready = [&] { ++told; };
  rig().settle();
  const uint64_t events = rig().stats().events;
  for (int i = 0; i < 20; ++i) rig().wait(Engine::kPollOnly);
  EXPECT_EQ(rig().stats().events, events);
  EXPECT_EQ(told, 0);
  ends.drain_far();
  ASSERT_TRUE(rig().run_until([&] { return watch.writable_count >= 3; })) << "it is level-triggered";
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, fin_is_readable_and_not_writable) {
  Ends ends;
  ends.fill_near();
  WatchLog& watch = rig().watch(ends.near.get(), true, true);
  rig().settle();
  EXPECT_EQ(watch.readable_count, 0);
  ASSERT_EQ(::shutdown(ends.far.get(), SHUT_WR), 0);
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count >= 3; })) << "it is level-triggered";
  EXPECT_EQ(watch.writable_count, 0);
  ends.drain_far();
  ASSERT_TRUE(rig().run_until([&] { return watch.writable_count > 0; }));
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, broken_counts_as_both) {
  Ends ends;
  ends.fill_near();
  WatchLog& watch = rig().watch(ends.near.get(), true, true);
  rig().settle();
  ends.far.reset();
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count > 0 && watch.writable_count > 0; }));
  ASSERT_TRUE(unwatches(watch));
}

// A plain read does not take an urgent byte, so a watch that reported it would report it for ever.
TEST_P(EngineWatch, urgent_byte_is_no_news_to_who_reads) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Fd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress any = EngineRig::loopback();
  ASSERT_EQ(::bind(listener.get(), any.data(), any.size()), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  const SocketAddress bound = listening_address(listener.get()).value();
  ASSERT_EQ(::connect(far.get(), bound.data(), bound.size()), 0);
  Fd near(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  WatchLog& watch = rig().watch(near.get(), true, false);
  rig().settle();
  ASSERT_EQ(::send(far.get(), "!", 1, MSG_OOB), 1);
  pollfd urgent{.fd = near.get(), .events = POLLPRI, .revents = 0};
  ASSERT_EQ(::poll(&urgent, 1, -1), 1);
  for (int i = 0; i < 20; ++i) rig().wait(Engine::kPollOnly);
  EXPECT_LE(watch.readable_count, 1) << "io_uring hands on what woke it, once";
  ASSERT_EQ(::send(far.get(), "plain", 5, 0), 5);
  ASSERT_TRUE(rig().run_until([&] { return watch.readable_count >= 3; }));
  ASSERT_TRUE(unwatches(watch));
}

TEST_P(EngineWatch, unwatched_inside_on_ready_and_watched_again) {
  Pipe pipe;
  pipe.write("x");
  WatchLog* second = nullptr;
  WatchLog& first = rig().watch(pipe.out.get(), true, false);
  first.when_ready = [&] {
    first.unwatch();
    second = &rig().watch(pipe.out.get(), true, false);
    second->when_ready = [&] {
      EXPECT_EQ(pipe.read(), 1U);
      second->unwatch();
    };
  };
  ASSERT_TRUE(rig().run_until([&] { return first.unwatched && second != nullptr && second->unwatched; }));
  EXPECT_EQ(first.readable_count, 1);
  EXPECT_EQ(second->readable_count, 1);
  EXPECT_NE(first.id, second->id);
  uint64_t before = rig().stats().stale_calls;
  rig().engine().unwatch(first.id);
  rig().engine().unwatch(WatchId{});
  EXPECT_EQ(rig().stats().stale_calls - before, 2U);
  rig().settle();
}

TEST_P(EngineWatch, watches_unwatch_each_other_in_one_batch) {
  constexpr int kPipes = 8;
  std::vector<Pipe> pipes(kPipes);
  std::vector<WatchLog*> watches;
  for (auto& pipe : pipes) watches.push_back(&rig().watch(pipe.out.get(), true, false));
  for (WatchLog* watch : watches) {
    watch->when_ready = [&] {
      for (WatchLog* each : watches) each->unwatch();
    };
  }
  for (auto& pipe : pipes) pipe.write("x");
  ASSERT_TRUE(
      rig().run_until([&] { return std::ranges::all_of(watches, [](auto* watch) { return watch->unwatched; }); }));
  int told = 0;
  for (WatchLog* watch : watches) told += watch->readable_count;
  EXPECT_EQ(told, 1);
}

TEST_P(EngineWatch, fd_may_be_closed_inside_on_unwatched) {
  for (int round = 0; round < 30; ++round) {
    Pipe pipe;
    WatchLog& watch = rig().watch(pipe.out.get(), true, false);
    watch.when_unwatched = [&] {
      pipe.out.reset();
      pipe.in.reset();
    };
    if (round % 3 == 0) pipe.write("x");
    if (round % 2 == 0) rig().wait(Engine::kPollOnly);
    ASSERT_TRUE(unwatches(watch));
    EXPECT_FALSE(static_cast<bool>(pipe.out));
  }
}

TEST_P(EngineWatch, shut_says_goodbye_to_watches) {
  Pipe pipe;
  WatchLog& quiet = rig().watch(pipe.out.get(), true, false);
  Fd counter(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
  WatchLog& ready = rig().watch(counter.get(), true, true);
  ASSERT_TRUE(rig().run_until([&] { return ready.readable_count > 0 && ready.writable_count > 0; }));
  rig().shut();
  EXPECT_TRUE(quiet.unwatched);
  EXPECT_TRUE(ready.unwatched);
}

}  // namespace
}  // namespace peal
