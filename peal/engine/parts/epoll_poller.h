// SPDX-License-Identifier: BSD-3-Clause
// The Poller over epoll(7), edge- or level-triggered as asked.
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
  int wait_until(epoll_event* events, int room, TimePoint deadline);

  Fd epoll_;
  bool has_pwait2_ = true;
};

}  // namespace peal::detail
