// SPDX-License-Identifier: BSD-3-Clause
// Tests of AsyncFd with real fds, on every engine.
#include <peal/sync/async_fd.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>

#include <peal/coro/when.h>
#include <peal/sync/async_event.h>
#include <peal/sync/select.h>
#include <tests/support/engines/socket_pair.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;
using testing::ElementsAre;

class AsyncFdTest : public test::TaskTest {
 protected:
  void SetUp() override {
    test::TaskTest::SetUp();
    if (IsSkipped()) return;
    std::tie(near, far) = test::socket_pair();
  }
  void TearDown() override {
    near.reset();
    far.reset();
    test::TaskTest::TearDown();
  }
  static void write(int fd, std::string_view bytes) {
    EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  static std::string read(int fd) {
    std::array<char, 4096> room{};
    const ssize_t got = ::read(fd, room.data(), room.size());
    return got > 0 ? std::string(room.data(), static_cast<size_t>(got)) : std::string();
  }
  // Writes until write(2) would block.
  static void fill(int fd) {
    const std::string much(1 << 16, 'x');
    while (::write(fd, much.data(), much.size()) > 0) continue;
  }

  Fd near;
  Fd far;
};

TEST_P(AsyncFdTest, waits_until_there_is_something_to_read) {
  AsyncFd fd(loop(), std::move(near));
  auto reads = [&]() -> Task<> {
    for (const std::string_view text : {"one", "two", ""}) {
      EXPECT_TRUE(co_await fd.readable());
      EXPECT_EQ(read(fd.fd()), text);
    }
  };
  auto writes = [&]() -> Task<> {
    co_await settle();
    write(far.get(), "one");
    co_await settle();
    write(far.get(), "two");
    co_await settle();
    far.reset();
  };
  run([&]() -> Task<> { co_await when_all(reads(), writes()); });
}

TEST_P(AsyncFdTest, ready_once_it_need_not_wait_and_always_ready_it_does) {
  AsyncFd fd(loop(), near.get());
  run([&]() -> Task<> {
    write(far.get(), "x");
    const uint64_t turn = loop().stats().turns;
    EXPECT_TRUE(co_await fd.readable());
    EXPECT_EQ(loop().stats().turns, turn);
    // The fd stays ready because nothing is read. Each await after the first must still take a turn of the loop.
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(co_await fd.readable());
    EXPECT_GE(loop().stats().turns, turn + 5);
  });
}

TEST_P(AsyncFdTest, waits_until_there_is_room_to_write) {
  AsyncFd fd(loop(), near.get());
  auto writes = [&]() -> Task<> {
    EXPECT_TRUE(co_await fd.writable());
    fill(near.get());
    EXPECT_TRUE(co_await fd.writable());
    notes.emplace_back("room");
  };
  auto reads = [&]() -> Task<> {
    co_await settle();
    notes.emplace_back("reads");
    while (!read(far.get()).empty()) continue;
  };
  run([&]() -> Task<> { co_await when_all(writes(), reads()); });
  EXPECT_THAT(notes, ElementsAre("reads", "room"));
}

TEST_P(AsyncFdTest, several_wait_for_both_directions_and_all_go_on) {
  AsyncFd fd(loop(), near.get());
  auto waits = [&](bool writes) -> Task<> {
    auto ready = writes ? fd.writable() : fd.readable();
    EXPECT_TRUE(co_await ready);
    notes.emplace_back(writes ? "w" : "r");
  };
  auto frees = [&]() -> Task<> {
    co_await settle();
    EXPECT_TRUE(notes.empty());
    write(far.get(), "x");
    co_await sleep(milliseconds(1));
    EXPECT_THAT(notes, ElementsAre("r", "r"));
    while (!read(far.get()).empty()) continue;
  };
  run([&]() -> Task<> {
    fill(near.get());
    co_await when_all(waits(false), waits(true), waits(false), waits(true), frees());
  });
  EXPECT_THAT(notes, ElementsAre("r", "r", "w", "w"));
}

TEST_P(AsyncFdTest, too_late_cancelled_or_not_chosen_it_waits_no_more) {
  AsyncFd fd(loop(), near.get());
  AsyncEvent event;
  auto waits = [&]() -> Task<> { notes.push_back(error_of(co_await fd.readable()).message()); };
  run([&]() -> Task<> {
    EXPECT_EQ(error_of(co_await fd.readable().within(milliseconds(1))), errno_code(ETIMEDOUT));
    Scope scope(loop());
    scope.spawn(waits());
    scope.cancel();
    co_await scope.join();
    event.set();
    EXPECT_EQ((co_await select(fd.readable(), event.wait())).value().index(), 1U);
    // The event arrives while no coroutine waits. A later await must still find the fd ready.
    write(far.get(), "late");
    co_await settle();
    event.reset();
    EXPECT_EQ((co_await select(event.wait(), fd.readable(), sleep(hours(1)))).value().index(), 1U);
    EXPECT_EQ(read(fd.fd()), "late");
  });
  EXPECT_THAT(notes, ElementsAre(errno_code(ECANCELED).message()));
}

TEST_P(AsyncFdTest, its_lender_may_close_what_was_lent) {
  run([&]() -> Task<> {
    AsyncFd fd(loop(), near.get());
    EXPECT_EQ(error_of(co_await fd.readable().within(milliseconds(1))), errno_code(ETIMEDOUT));
    near.reset();
    far.reset();
    EXPECT_TRUE(co_await fd.readable());
  });
}

TEST_P(AsyncFdTest, whoever_is_resumed_may_destroy_it) {
  std::optional<AsyncFd> fd(std::in_place, loop(), std::move(near));
  auto waits = [&]() -> Task<> {
    EXPECT_TRUE(co_await fd->readable());
    fd.reset();
  };
  auto writes = [&]() -> Task<> {
    co_await settle();
    write(far.get(), "x");
  };
  run([&]() -> Task<> { co_await when_all(waits(), writes()); });
}

TEST_P(AsyncFdTest, what_cannot_be_waited_for_is_an_error_each_time) {
  run([&]() -> Task<> {
    AsyncFd none(loop(), -1);
    EXPECT_EQ(error_of(co_await none.readable()), errno_code(EBADF));
    EXPECT_EQ(error_of(co_await none.writable()), errno_code(EBADF));
    AsyncFd folder(loop(), Fd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
    EXPECT_EQ(error_of(co_await folder.readable()), errno_code(EPERM));
    EXPECT_EQ(error_of(co_await folder.writable()), errno_code(EPERM));
  });
}

TEST_P(AsyncFdTest, a_loop_that_stops_ends_the_wait) {
  AsyncFd fd(loop(), near.get());
  run_into_the_end([&]() -> Task<> { notes.push_back(error_of(co_await fd.readable()).message()); });
  EXPECT_THAT(notes, ElementsAre(std::error_code(Trouble::kLoopStopped).message()));
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(AsyncFdTest);

}  // namespace
}  // namespace peal
