// SPDX-License-Identifier: BSD-3-Clause
// The Poller over poll(2): level-triggered, without a bound on fds. A wait costs time for each fd that is polled.
#pragma once

#include <vector>

#include <peal/engine/readiness/poller.h>

namespace peal::detail {

class PollPoller final : public Poller {
 public:
  static Result<std::unique_ptr<Poller>> make() { return std::make_unique<PollPoller>(); }

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void remove(int fd, uint64_t key) override;
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  bool is_edge_triggered() const override { return false; }

 private:
  size_t place_of(int fd) const;

  static constexpr uint32_t kNowhere = UINT32_MAX;

  std::vector<pollfd> polled_;    // in no order; one that nothing is asked of has its fd's complement, which is ignored
  std::vector<uint64_t> keys_;    // of each in polled_
  std::vector<uint32_t> places_;  // by fd: where it is in polled_
  size_t next_ = 0;               // where the next wait starts to look
};

}  // namespace peal::detail
