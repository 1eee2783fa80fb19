// SPDX-License-Identifier: BSD-3-Clause
// The Poller over epoll(7), edge- or level-triggered as asked.
//
// A timeout makes the kernel start a timer for each wait and stop it again, which on a virtual machine may cost as much
// as a system call. So a deadline that several waits in a row have had (that of an idle timeout, say) is given to a
// timerfd, once; until that fires, waits go without.
#pragma once

#include <sys/epoll.h>

#include <peal/base/fd.h>
#include <peal/engine/parts/poller.h>

namespace peal::detail {

class EpollPoller final : public Poller {
 public:
  static Result<std::unique_ptr<Poller>> make();

  Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void modify(int fd, uint64_t key, uint32_t interest, bool edge) override;
  void remove(int fd) override;
  size_t wait(std::span<PollEvent> events, TimePoint deadline) override;
  Name name() const override { return {"epoll", true}; }

 private:
  explicit EpollPoller(Fd epoll) : epoll_(std::move(epoll)) {}
  int control(int operation, int fd, uint64_t key, uint32_t interest, bool edge);
  [[gnu::noinline]] size_t wait_by(std::span<PollEvent> events, TimePoint deadline);
  int wait_until(epoll_event* events, int room, TimePoint deadline);
  bool alarm_rings_by(TimePoint deadline);
  bool set_alarm(TimePoint at);
  [[gnu::noinline]] static size_t none();
  size_t without_alarm(std::span<PollEvent> events);

  Fd epoll_;
  bool has_pwait2_ = true;
  Fd alarm_;  // the timerfd
  bool set_once_ = false;
  TimePoint alarm_at_ = kNever;  // kNever: it is not set
  TimePoint repeated_ = kNever;  // what the last waits were to end by
  int repeats_ = 0;
};

}  // namespace peal::detail
