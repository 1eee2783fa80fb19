// SPDX-License-Identifier: BSD-3-Clause
// EpollPoller: the Poller over epoll(7). Each fd is edge- or level-triggered as add() asks.
#pragma once

#include <sys/epoll.h>

#include <peal/base/fd.h>
#include <peal/engine/readiness/deadline_alarm.h>
#include <peal/engine/readiness/poller.h>

namespace peal::detail {

class EpollPoller final : public Poller {
 public:
  static Result<std::unique_ptr<Poller>> make();

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override {
    return control(EPOLL_CTL_ADD, fd, key, interest, edge);
  }
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void remove(int fd, uint64_t key) override;
  // Closes the fd by destroying it. The kernel then removes the fd from the epoll set, so no call of epoll_ctl(2) is
  // needed.
  void close(Fd /*fd*/, uint64_t /*key*/) override {}

  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  bool is_edge_triggered() const override { return true; }

 private:
  explicit EpollPoller(Fd epoll) : epoll_(std::move(epoll)) {}
  Result<void> control(int operation, int fd, uint64_t key, uint32_t interest, bool edge);
  [[gnu::noinline]] size_t wait_with_deadline(std::span<PollEvent> events, TimePoint deadline);
  int wait_until(epoll_event* events, int room, TimePoint deadline);
  void set_alarm(TimePoint at);
  [[gnu::noinline]] static size_t check_interrupted();
  size_t remove_alarm_event(std::span<PollEvent> events);

  Fd epoll_;
  bool has_pwait2_ = true;
  Fd timer_;  // A timerfd, which serves as the alarm.
  DeadlineAlarm alarm_;
};

}  // namespace peal::detail
