// SPDX-License-Identifier: BSD-3-Clause
// Poller: tells a ReadinessEngine which of many fds are ready. There is one implementation for each of epoll, poll,
// select and io_uring. A poller is used by one thread, that of its engine.
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

// Bits of interest and of readiness. poll(2) and epoll(7) give them the same values.
inline constexpr uint32_t kReadable = POLLIN;
inline constexpr uint32_t kWritable = POLLOUT;

// The fd is broken, which makes it ready in both directions. Always reported, even without being asked for.
inline constexpr uint32_t kBroken = POLLHUP | POLLERR;

// Bits that are reported only together with an interest in kReadable: the peer's FIN and, for edge-triggered fds,
// urgent data. A FIN stays true for good and says nothing about room for sending. A stream that waits only for such
// room would be woken by it again and again.
inline constexpr uint32_t kReadersNews = POLLRDHUP | POLLPRI;

// Bits after which a read that did not fill its buffer must be followed by another one.
inline constexpr uint32_t kHangup = kBroken | kReadersNews;

// Interest of a stream that waits for neither direction: errors only. A level-triggered poller would report an error in
// every wait, so the engine drops this interest after the first report. An edge-triggered poller reports errors anyway.
inline constexpr uint32_t kFailed = POLLERR;

// Readiness bit that poll(2) does not have. The poller has stopped watching an edge-triggered fd, and the engine must
// call modify() to watch it again.
inline constexpr uint32_t kRegistrationLost = 1U << 24;

// An event, laid out as struct epoll_event, so that the kernel can fill it in.
struct [[gnu::packed]] PollEvent {
  uint32_t readiness;
  uint64_t key;
};

// Bit that is zero in every key of an engine. A poller may set it to mark keys of its own.
inline constexpr uint64_t kPollerKeyBit = 32;

// Readiness bit: the event is the outcome of Poller::send(). The bits of kSendOutcomeMask hold the number of bytes that
// were sent or, if kSendFailed is set, the errno.
inline constexpr uint32_t kSent = 1U << 25;
inline constexpr uint32_t kSendFailed = 1U << 26;
inline constexpr uint32_t kSendOutcomeMask = 0xffff;

class Poller {
 public:
  virtual ~Poller() = default;

  // Watches `fd` for `interest`; its events carry `key`. If `edge` is true, a poller that is edge-triggered reports
  // each change once; the others ignore it. An interest in kReadable includes kReadersNews, and for level-triggered fds
  // only the FIN: urgent data that the owner does not read would be reported again and again. Errors:
  // - ENOSPC, ENOMEM, EMFILE: the poller has no room for the fd;
  // - EEXIST: the poller distinguishes its entries by fd and has this fd already.
  virtual Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) = 0;

  // Replaces the interest of an fd that was added. `key` and `edge` must be those given to add().
  virtual void modify(int fd, uint64_t key, uint32_t interest, bool edge) = 0;

  // Stops watching `fd`, which must still be open.
  virtual void remove(int fd, uint64_t key) = 0;

  // Stops watching `fd` and closes it. Both may be delayed until the next finish_removals() returns.
  virtual void close(Fd fd, uint64_t key) { remove(fd.get(), key); }

  // Completes all removals that close() has only begun.
  virtual void finish_removals() {}

  // Returns whether add() could take an fd with this number. If not, logs why.
  virtual bool can_hold(int /*fd*/) { return true; }

  // Returns whether the engine should use send() at present; several small sends then cost one system call. If the
  // result is false right after the poller was made, the poller has no send().
  bool takes_sends() const { return takes_sends_; }

  // Sends `bytes`, at most kMostSentBytes. The bytes must stay unchanged until an event of `key` with kSent reports the
  // outcome. They are sent soon, and at the latest when wait() is next entered. Only one send for each key may be
  // pending.
  virtual void send(int /*fd*/, uint64_t /*key*/, std::string_view /*bytes*/) {}
  static constexpr size_t kMostSentBytes = 2048;

  // Waits until an event comes or `deadline` is over, and fills `events` from the front. With TimePoint::min() it does
  // not wait, with kNever it waits without a limit. Returns the number of events: 0 if the deadline is over or a signal
  // interrupted the wait.
  virtual size_t wait(std::span<PollEvent> events, TimePoint deadline) = 0;

  // Returns whether add() heeds `edge`. If not, the engine must call modify() so that the poller stops reporting what
  // is not wanted.
  virtual bool is_edge_triggered() const = 0;

 protected:
  // Set by a poller that has a send(); takes_sends() returns it.
  bool takes_sends_ = false;
};

// Makes a poller. Called inside Engine::open(), on the loop's thread; open() fails with its error.
using MakePoller = Result<std::unique_ptr<Poller>> (*)();

// Converts a duration to timespec or __kernel_timespec.
template <class Time>
Time seconds_and_nanoseconds(Duration time) {
  return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

// Returns the timeout for ppoll(2) and pselect(2) that ends a wait at `deadline`. Writes it to `room` and returns its
// address; null stands for a wait without a limit.
inline const timespec* timeout_until(TimePoint deadline, timespec& room) {
  if (deadline == kNever) return nullptr;
  Duration left = Duration::zero();
  if (deadline != TimePoint::min()) left = std::max(deadline - monotonic_now(), Duration::zero());
  room = seconds_and_nanoseconds<timespec>(left);
  return &room;
}

}  // namespace peal::detail
