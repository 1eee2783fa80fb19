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
#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::detail {

// Bits of interest and of readiness: poll(2)'s and epoll(7)'s, which are the same.
inline constexpr uint32_t kReadable = POLLIN;
inline constexpr uint32_t kWritable = POLLOUT;
// The fd is broken, which counts as ready for both directions. Always reported.
inline constexpr uint32_t kBroken = POLLHUP | POLLERR;
// What only a reader is told of: the peer's FIN, which comes with kReadable, and, of edges, urgent data. A FIN stays
// true for good and says nothing of the room to send: whoever waits for that alone would be woken by it over and over.
inline constexpr uint32_t kReadersNews = POLLRDHUP | POLLPRI;
// What makes a second read after a short one necessary.
inline constexpr uint32_t kHangup = kBroken | kReadersNews;
// What a stream that waits for neither asks for: errors. A level poller would repeat one for ever, so modify() drops it
// once heard; an edge-triggered one need not be asked.
inline constexpr uint32_t kFailed = POLLERR;
// No bit of poll(2)'s: the poller has lost sight of what was edge-triggered, and modify() brings it back.
inline constexpr uint32_t kRegistrationLost = 1U << 24;

// Laid out as struct epoll_event, so that the kernel can fill it in.
struct [[gnu::packed]] PollEvent {
  uint32_t readiness;
  uint64_t key;
};

// A bit of no engine's keys: pollers may mark their own with it.
inline constexpr uint64_t kPollerKeyBit = 32;
// The event is the outcome of Poller::send(): below it how many bytes left, or, with kSendFailed, the errno.
inline constexpr uint32_t kSent = 1U << 25;
inline constexpr uint32_t kSendFailed = 1U << 26;
inline constexpr uint32_t kSendOutcomeMask = 0xffff;

class Poller {
 public:
  virtual ~Poller() = default;

  // Watches `fd` for `interest`; events carry `key`. With `edge` a poller that can tells of each change once (the
  // others ignore it). kReadable asks for kReadersNews too, of level-triggered ones for the FIN alone: urgent data
  // would be told over and over to somebody who does not read it. Fails with ENOSPC, ENOMEM, EMFILE for an fd it cannot
  // hold, or EEXIST where it tells fds apart and has this one already.
  virtual Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) = 0;
  virtual void modify(int fd, uint64_t key, uint32_t interest, bool edge) = 0;
  // Forgets `fd`, which is still open.
  virtual void remove(int fd, uint64_t key) = 0;
  // Forgets `fd` and closes it, by the end of the next finish_removals() at the latest.
  virtual void close(Fd fd, uint64_t key) { remove(fd.get(), key); }
  virtual void finish_removals() {}
  // Whether add() could take an fd of this number; says in the log why not.
  virtual bool can_hold(int /*fd*/) { return true; }
  // Whether send() is to be used now, which makes several small sends cost one system call. A poller that opens with
  // "no" has no send().
  bool takes_sends() const { return takes_sends_; }
  // Sends `bytes` (kMostSentBytes at most), which stay as they are until an event of `key` with kSent tells how it
  // went: soon, and at the latest when wait() is next entered. One at a time for each key.
  virtual void send(int /*fd*/, uint64_t /*key*/, std::string_view /*bytes*/) {}
  static constexpr size_t kMostSentBytes = 2048;
  // Waits until `deadline` (TimePoint::min(): not at all, kNever: for ever) and fills `events` from the front. Returns
  // how many; 0 at the deadline or when a signal came.
  virtual size_t wait(std::span<PollEvent> events, TimePoint deadline) = 0;

  // Otherwise it is told by modify() what to stop reporting.
  virtual bool is_edge_triggered() const = 0;

 protected:
  bool takes_sends_ = false;
};

// Called inside Engine::open(), on the loop's thread; its failure is open()'s.
using MakePoller = Result<std::unique_ptr<Poller>> (*)();

template <class Time>
Time seconds_and_nanoseconds(Duration time) {
  return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

// What ppoll(2) and pselect(2) take for wait()'s deadline: `room`, filled in, or null for ever.
inline const timespec* timeout_until(TimePoint deadline, timespec& room) {
  if (deadline == kNever) return nullptr;
  Duration left = Duration::zero();
  if (deadline != TimePoint::min()) left = std::max(deadline - monotonic_now(), Duration::zero());
  room = seconds_and_nanoseconds<timespec>(left);
  return &room;
}

}  // namespace peal::detail
