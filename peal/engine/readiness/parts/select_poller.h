// SPDX-License-Identifier: BSD-3-Clause
// The Poller over select(2): level-triggered, for fds below FD_SETSIZE (1024). It refuses others with EMFILE and says
// why in the log, one line a second at most: set in an fd_set, they would overwrite what lies behind it.
#pragma once

#include <sys/select.h>

#include <array>
#include <chrono>

#include <peal/base/log_limiter.h>
#include <peal/engine/readiness/poller.h>

namespace peal::detail {

class SelectPoller final : public Poller {
 public:
  static Result<std::unique_ptr<Poller>> make() { return std::make_unique<SelectPoller>(); }

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void remove(int fd, uint64_t key) override;
  bool can_hold(int fd) override;
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  bool is_edge_triggered() const override { return false; }

 private:
  // Empty, all of them (FD_ZERO).
  fd_set read_{};
  fd_set write_{};
  fd_set known_{};
  int end_ = 0;   // above every fd that was ever known
  int next_ = 0;  // where the next wait starts to look
  std::array<uint64_t, FD_SETSIZE> keys_{};
  LogLimiter limiter_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
