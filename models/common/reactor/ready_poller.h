// SPDX-License-Identifier: BSD-3-Clause
// ReadyPoller: select(2), poll(2) and epoll(7) behind one small interface: which fds are ready for what each is asked
// for, one thing at a time. Level-triggered; an error or a hang-up counts as what was asked. One thread.
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
// Of several pollers that watch the same fd all are woken, or one; select and poll always wake all.
enum class Wake : bool { kAll, kOne };

class ReadyPoller {
 public:
  // `events_per_wait`: how many fds a wait of epoll may bring; the others bring all. EMFILE.
  static Result<std::unique_ptr<ReadyPoller>> make(PollerKind kind, size_t events_per_wait);
  virtual ~ReadyPoller() = default;

  // An open fd that is not in. EMFILE: select cannot hold its number; ENOMEM, ENOSPC: epoll_ctl(2).
  virtual Result<void> add(int fd, PollFor what, Wake wake = Wake::kAll) = 0;
  // An fd that is in.
  virtual Result<void> change(int fd, PollFor what) = 0;
  // Before it is closed.
  virtual void remove(int fd);
  // Waits until an fd is ready, or until the deadline. The answer is good until the next call.
  virtual Result<std::span<const int>> wait(TimePoint deadline) = 0;
};

}  // namespace peal::models
