// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/transfer_result.h>

#include <gtest/gtest.h>

namespace peal::detail {
namespace {

bool pipe_signal_is_blocked() {
  sigset_t now;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, SIGPIPE) == 1;
}

// The kernel raises SIGPIPE with a short count if the peer's reset comes after the first piece. The signal has its
// default effect in this process, so it would end the test.
TEST(TransferResult, a_signal_that_comes_with_fewer_bytes_is_taken_back) {
  const TransferResult moved = move_bytes(1000, [] {
    ::raise(SIGPIPE);
    return ssize_t{10};
  });
  EXPECT_EQ(moved.bytes, 10U);
  EXPECT_EQ(moved.error, 0);
  EXPECT_FALSE(pipe_signal_is_blocked());
}

TEST(TransferResult, a_signal_that_comes_with_the_error_is_taken_back) {
  const TransferResult moved = move_bytes(1000, [] {
    ::raise(SIGPIPE);
    errno = EPIPE;
    return ssize_t{-1};
  });
  EXPECT_EQ(moved.bytes, 0U);
  EXPECT_EQ(moved.error, EPIPE);
  EXPECT_FALSE(pipe_signal_is_blocked());
}

TEST(TransferResult, a_signal_that_somebody_else_holds_off_stays_his) {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::raise(SIGPIPE);
  EXPECT_EQ(move_bytes(1000, [] { return ssize_t{10}; }).bytes, 10U);
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
  timespec at_once{};
  EXPECT_EQ(::sigtimedwait(&pipe, nullptr, &at_once), SIGPIPE);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace peal::detail
