// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/epoll_listener.h>

#include <sys/epoll.h>

#include <cerrno>

namespace peal::models {
namespace {}  // namespace

Result<void> EpollListener::watch(void* data) {
  data_ = data;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLEXCLUSIVE;
  event.data.ptr = data;
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event) != 0) return fail(errno);
  return {};
}

Accepted EpollListener::next() {
  Accepted accepted = source_(listener_);
  if (accepted.did == CallOutcome::kNoRoom || accepted.did == CallOutcome::kEnd) {
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
    if (accepted.did == CallOutcome::kNoRoom) resume_at_ = monotonic_now() + kRoomPause;
  }
  return accepted;
}

void EpollListener::resume() { resume_at_ = watch(data_) ? kNever : monotonic_now() + kRoomPause; }

}  // namespace peal::models
