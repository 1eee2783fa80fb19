// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/event_waker.h>

#include <poll.h>

#include <thread>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

bool is_readable(int fd) {
  pollfd poll_fd{fd, POLLIN, 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

TEST(EventWaker, many_wakes_are_one_event) {
  EventWaker waker;
  ASSERT_TRUE(waker.ready());
  EXPECT_FALSE(is_readable(waker.fd()));
  for (int i = 0; i < 3; ++i) waker.wake();
  EXPECT_TRUE(is_readable(waker.fd()));
  waker.drain();
  EXPECT_FALSE(is_readable(waker.fd()));
}

TEST(EventWaker, wakes_again_after_a_drain) {
  EventWaker waker;
  for (int i = 0; i < 3; ++i) {
    waker.wake();
    EXPECT_TRUE(is_readable(waker.fd()));
    waker.drain();
  }
}

TEST(EventWaker, a_drain_without_a_wake_is_harmless) {
  EventWaker waker;
  waker.drain();
  waker.wake();
  EXPECT_TRUE(is_readable(waker.fd()));
}

TEST(EventWaker, no_wake_of_another_thread_is_lost) {
  EventWaker waker;
  constexpr int kRounds = 20000;
  std::atomic<int> posted = 0;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      posted.fetch_add(1, std::memory_order_relaxed);
      waker.wake();
    }
  });
  for (int seen = 0; seen < kRounds;) {
    pollfd poll_fd{waker.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&poll_fd, 1, 10000), 1) << "after " << seen << " posts";
    waker.drain();
    seen = posted.load(std::memory_order_relaxed);
  }
  other.join();
}

}  // namespace
}  // namespace peal::detail
