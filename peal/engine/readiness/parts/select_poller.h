// SPDX-License-Identifier: BSD-3-Clause
// SelectPoller: the Poller over select(2). It is level-triggered and takes only fds below FD_SETSIZE (1024). A larger
// fd would overwrite the memory after an fd_set, so it is refused with EMFILE and a log line, at most one a second.
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
  // The sets read_, write_ and known_ start empty, as FD_ZERO would make them.
  fd_set read_{};
  fd_set write_{};
  fd_set known_{};
  int end_ = 0;   // One more than the largest fd that was ever added.
  int next_ = 0;  // The fd at which the next wait() starts to look for ready ones.
  std::array<uint64_t, FD_SETSIZE> keys_{};
  LogLimiter limiter_{std::chrono::seconds(1)};
};

}  // namespace peal::detail
