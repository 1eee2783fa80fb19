// SPDX-License-Identifier: BSD-3-Clause
// TimedPoller: another poller, whose waits it times. One thread.
#pragma once

#include <memory>
#include <utility>

#include <peal/engine/readiness/poller.h>

namespace peal::detail {

class TimedPoller final : public Poller {
 public:
  // Writes to `woke_at`, which outlives it, when a wait is over.
  TimedPoller(std::unique_ptr<Poller> poller, TimePoint& woke_at) : poller_(std::move(poller)), woke_at_(woke_at) {}

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override {
    return poller_->add(fd, key, interest, edge);
  }
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override { poller_->modify(fd, key, interest, edge); }
  void remove(int fd, uint64_t key) override { poller_->remove(fd, key); }
  void close(Fd fd, uint64_t key) override { poller_->close(std::move(fd), key); }
  void settle() override { poller_->settle(); }
  bool can_hold(int fd) override { return poller_->can_hold(fd); }
  bool takes_sends() const override { return poller_->takes_sends(); }
  void send(int fd, uint64_t key, std::string_view bytes) override { poller_->send(fd, key, bytes); }
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override {
    const size_t count = poller_->wait(events, deadline);
    woke_at_ = monotonic_now();
    return count;
  }
  Name name() const override { return poller_->name(); }

 private:
  const std::unique_ptr<Poller> poller_;
  TimePoint& woke_at_;
};

}  // namespace peal::detail
