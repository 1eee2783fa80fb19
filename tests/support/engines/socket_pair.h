// SPDX-License-Identifier: BSD-3-Clause
// Two ends of a unix stream that do not block.
#pragma once

#include <sys/socket.h>

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

}  // namespace peal::test
