// SPDX-License-Identifier: BSD-3-Clause
// PollPoller: the Poller over poll(2). It is level-triggered and has no limit on fds. Each wait costs time for every fd
// that is polled.
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

  // The polled fds, in no particular order. An fd without interest is stored as its complement, which is negative and
  // makes poll(2) ignore the entry.
  std::vector<pollfd> polled_;
  std::vector<uint64_t> keys_;    // The key of each entry of polled_.
  std::vector<uint32_t> places_;  // For each fd its index in polled_, or kNowhere.
  size_t next_ = 0;               // Index at which the next wait() starts to look for ready fds.
};

}  // namespace peal::detail
