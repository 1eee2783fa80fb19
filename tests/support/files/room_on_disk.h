// SPDX-License-Identifier: BSD-3-Clause
// RoomOnDisk: while the object exists, no file of this process can grow beyond `bytes`. The tested code sees a full
// disk: write(2) writes only a part of the bytes, and the next write(2) fails with EFBIG.
#pragma once

#include <sys/resource.h>

#include <csignal>

#include <gtest/gtest.h>

namespace peal::test {

class RoomOnDisk {
 public:
  explicit RoomOnDisk(rlim_t bytes) : handler_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit room{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &room), 0);
  }
  ~RoomOnDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_before_);
  }
  RoomOnDisk(const RoomOnDisk&) = delete;
  RoomOnDisk& operator=(const RoomOnDisk&) = delete;

 private:
  rlimit before_{};
  void (*const handler_before_)(int);
};

}  // namespace peal::test
