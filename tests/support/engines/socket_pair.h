// SPDX-License-Identifier: BSD-3-Clause
// Functions that return two connected fds: the ends of a Unix stream socket, which is non-blocking by default, or the
// ends of a pipe.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include <gtest/gtest.h>

#include <peal/base/fd.h>

namespace peal::test {

inline std::pair<Fd, Fd> socket_pair(int flags = SOCK_NONBLOCK | SOCK_CLOEXEC) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | flags, 0, ends.data()), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

// Returns the two ends of a pipe: first the read end, then the write end.
inline std::pair<Fd, Fd> pipe_ends(int flags = O_CLOEXEC) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), flags), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace peal::test
