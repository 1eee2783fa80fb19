// SPDX-License-Identifier: BSD-3-Clause
// ReadyPoller: one small interface for select(2), poll(2) and epoll(7). Each fd in the poller waits for reading,
// writing or nothing, and wait() returns the fds that are ready. Level-triggered: an fd that is still ready is returned
// again. An fd with an error or a hang-up counts as ready. Use a ReadyPoller on one thread only.
//
//            what a wait costs                          what it cannot
//   select   two sets of bits, up to the highest fd     an fd of FD_SETSIZE (1024) or more
//   poll     the list of all fds, there and back
//   epoll    those that are ready                       changing what is asked costs a system call
#pragma once

#include <memory>
#include <span>

#include <models/common/model_options.h>
#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal::models {

enum class PollFor : uint8_t { kNothing, kRead, kWrite };
// Several pollers may watch the same fd. Wake says which of them an event wakes:
// - kAll: all of them.
// - kOne: at least one of them (EPOLLEXCLUSIVE). Only a poller that uses epoll supports kOne. For select and poll, kOne
//   means the same as kAll.
enum class Wake : bool { kAll, kOne };

class ReadyPoller {
 public:
  // Creates a poller. Fails with EMFILE if no fd is free. A poller that uses epoll returns at most `events_per_wait`
  // fds from each wait(). With select and poll, each wait() returns all ready fds.
  static Result<std::unique_ptr<ReadyPoller>> make(PollerKind kind, size_t events_per_wait);
  virtual ~ReadyPoller() = default;

  // Adds `fd` to the poller, to wait for the event `what`. `fd` must be open, and must not be in the poller yet.
  // Errors:
  // - EMFILE with select: `fd` is FD_SETSIZE (1024) or more.
  // - ENOMEM or ENOSPC with epoll: epoll_ctl(2) has failed.
  virtual Result<void> add(int fd, PollFor what, Wake wake = Wake::kAll) = 0;
  // Replaces the event for which wait() returns `fd`. `fd` must be in the poller. With kNothing, wait() does not return
  // `fd` until the next change(). Errors with epoll:
  // - EINVAL: `fd` was added with Wake::kOne, and kRead is to be replaced by kWrite or the reverse. The kernel cannot
  //   modify an entry with EPOLLEXCLUSIVE.
  // - ENOMEM or ENOSPC: epoll_ctl(2) has failed.
  virtual Result<void> change(int fd, PollFor what) = 0;
  // Removes `fd` from the poller. Call remove() before you close `fd`. With a closed fd, select(2) would fail, poll(2)
  // would report the fd as ready again and again, and remove() itself would fail with epoll.
  virtual void remove(int fd);
  // Waits until an fd is ready or the time `deadline` is reached. A signal may end the wait earlier. Returns the ready
  // fds, or an empty span if no fd is ready. The returned span is valid until the next call of wait(). Fails if the
  // system call fails.
  virtual Result<std::span<const int>> wait(TimePoint deadline) = 0;
};

}  // namespace peal::models
