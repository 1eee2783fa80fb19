// SPDX-License-Identifier: BSD-3-Clause
// Poller: the second seam, under the ReadinessEngine: tells which of many fds are ready. One thread.
#pragma once

#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>

#include <peal/base/clock.h>
#include <peal/base/result.h>

namespace peal::detail {

// Bits of interest and of readiness: poll(2)'s and epoll(7)'s, which are the same.
inline constexpr uint32_t kReadable = POLLIN;
inline constexpr uint32_t kWritable = POLLOUT;
// What makes a second read after a short one necessary. Always reported.
inline constexpr uint32_t kHangup = POLLRDHUP | POLLHUP | POLLERR | POLLPRI;

// Laid out as struct epoll_event, so that the kernel can fill it in.
struct [[gnu::packed]] PollEvent {
  uint32_t readiness;
  uint64_t key;
};

class Poller {
 public:
  virtual ~Poller() = default;

  // Watches `fd` for `interest`; events carry `key`. With `edge` a poller that can tells of each change once (the
  // others ignore it: the name says which it is). Fails with ENOSPC, ENOMEM or, for an fd it cannot hold, EMFILE.
  virtual Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) = 0;
  virtual void modify(int fd, uint64_t key, uint32_t interest, bool edge) = 0;
  // Forgets `fd`, which is still open.
  virtual void remove(int fd) = 0;
  // Whether add() could take an fd of this number; says in the log why not.
  virtual bool can_hold(int /*fd*/) { return true; }
  // Waits until `deadline` (TimePoint::min(): not at all, kNever: for ever) and fills `events` from the front. Returns
  // how many; 0 at the deadline or when a signal came.
  virtual size_t wait(std::span<PollEvent> events, TimePoint deadline) = 0;

  struct Name {
    std::string_view text;
    bool edge_triggered;  // a level poller is told by modify() what to stop reporting
  };
  virtual Name name() const = 0;
};

// What ppoll(2) and pselect(2) take for wait()'s deadline: `room`, filled in, or null for ever.
inline const timespec* timeout_until(TimePoint deadline, timespec& room) {
  if (deadline == kNever) return nullptr;
  Duration left = Duration::zero();
  if (deadline != TimePoint::min()) left = std::max(deadline - monotonic_now(), Duration::zero());
  room = {.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
  return &room;
}

}  // namespace peal::detail
