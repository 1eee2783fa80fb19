// SPDX-License-Identifier: BSD-3-Clause
// ManyFds: for tests of fds that select(2) cannot watch. It raises the process's limit of open fds. It can also open
// all fds below FD_SETSIZE, so that each new fd has a higher number.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>

#include <vector>

#include <gtest/gtest.h>

#include <peal/base/fd.h>

namespace peal::test {

class ManyFds {
 public:
  static constexpr rlim_t kFds = FD_SETSIZE + 64;

  ManyFds() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit more{.rlim_cur = kFds, .rlim_max = before_.rlim_max};
    enough = before_.rlim_cur >= kFds || ::setrlimit(RLIMIT_NOFILE, &more) == 0;
  }
  ~ManyFds() {
    taken_.clear();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  ManyFds(const ManyFds&) = delete;
  ManyFds& operator=(const ManyFds&) = delete;
  void take_low_ones() {
    do {
      taken_.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 0));
      ASSERT_TRUE(static_cast<bool>(taken_.back()));
    } while (taken_.back().get() < FD_SETSIZE);
  }
  void give_back() { taken_.clear(); }
  bool enough = false;  // false if this process may not open kFds fds

 private:
  rlimit before_{};
  std::vector<Fd> taken_;
};

}  // namespace peal::test
