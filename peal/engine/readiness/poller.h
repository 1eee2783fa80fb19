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

// kReadable and kWritable: bits of interest and of readiness. poll(2) and epoll(7) give them the same values.
inline constexpr uint32_t kReadable = POLLIN;
inline constexpr uint32_t kWritable = POLLOUT;

// Readiness bits of an fd with an error or a hang-up. Such an fd counts as readable and as writable. A poller reports
// these bits even if they are not in the interest.
inline constexpr uint32_t kBroken = POLLHUP | POLLERR;

// Bits that are reported only together with an interest in kReadable: the peer's FIN and, for edge-triggered fds,
// urgent data. A stream that only waits for room to send gets neither of them. A FIN stays true for good, so it would
// wake such a stream again and again.
inline constexpr uint32_t kReadersNews = POLLRDHUP | POLLPRI;

// Bits that may announce the end of the input. If one of them was reported, a read that did not fill its buffer must be
// followed by another read.
inline constexpr uint32_t kHangup = kBroken | kReadersNews;

// Interest of a stream that waits neither for input nor for room to send: only errors are reported. A level-triggered
// poller would report an error in every wait, so the engine drops this interest after the first report. An
// edge-triggered poller reports errors anyway.
inline constexpr uint32_t kFailed = POLLERR;

// Readiness bit that poll(2) does not have. It says that the poller has stopped watching an edge-triggered fd. The
// engine must then call modify() to watch the fd again.
inline constexpr uint32_t kRegistrationLost = 1U << 24;

// The kernel packs struct epoll_event on x86-64 only. On other 64-bit processors, padding precedes its second member.
#ifdef __x86_64__
#define PEAL_PACKED_LIKE_EPOLL [[gnu::packed]]
#else
#define PEAL_PACKED_LIKE_EPOLL
#endif

// An event, laid out like struct epoll_event, so that the kernel can fill in an array of them.
struct PEAL_PACKED_LIKE_EPOLL PollEvent {
  uint32_t readiness;
  uint64_t key;
};
#undef PEAL_PACKED_LIKE_EPOLL

// Bit that is zero in every key of an engine. A poller may set this bit to mark keys of its own.
inline constexpr uint64_t kPollerKeyBit = 32;

// kSent is a readiness bit: the event reports the outcome of Poller::send(). The bits of kSendOutcomeMask then hold the
// number of bytes that were sent. If kSendFailed is set as well, they hold the errno instead.
inline constexpr uint32_t kSent = 1U << 25;
inline constexpr uint32_t kSendFailed = 1U << 26;
inline constexpr uint32_t kSendOutcomeMask = 0xffff;

class Poller {
 public:
  virtual ~Poller() = default;

  // Watches `fd` for `interest`. Events of the fd carry `key`. If `edge` is true, an edge-triggered poller reports each
  // change once; other pollers ignore `edge`. An interest in kReadable includes kReadersNews for an edge-triggered fd.
  // For a level-triggered fd it includes only the FIN, because urgent data that the owner does not read would be
  // reported again and again. Errors:
  // - ENOSPC, ENOMEM, EMFILE: the poller has no room for the fd;
  // - EEXIST: the poller distinguishes its entries by fd and has this fd already.
  virtual Result<void> add(int fd, uint64_t key, uint32_t interest, bool edge) = 0;

  // Replaces the interest of an fd that was added. `key` and `edge` must be those given to add().
  virtual void modify(int fd, uint64_t key, uint32_t interest, bool edge) = 0;

  // Stops watching `fd`, which must still be open.
  virtual void remove(int fd, uint64_t key) = 0;

  // Stops watching `fd` and closes it. The poller may delay both until the next finish_removals() returns.
  virtual void close(Fd fd, uint64_t key) { remove(fd.get(), key); }

  // Completes all removals and closes that close() has only begun.
  virtual void finish_removals() {}

  // Returns whether add() could take an fd with this number. If not, logs why.
  virtual bool can_hold(int /*fd*/) { return true; }

  // Returns whether the engine should use send() at present. Several small sends then cost one system call. If the
  // result is false right after the poller was made, the poller never has a send().
  bool takes_sends() const { return takes_sends_; }

  // Sends `bytes`, at most kMostSentBytes. The bytes must stay unchanged until an event with `key` and kSent reports
  // the outcome. They are sent soon, and at the latest when wait() is next entered. Only one send for each key may be
  // pending.
  virtual void send(int /*fd*/, uint64_t /*key*/, std::string_view /*bytes*/) {}
  static constexpr size_t kMostSentBytes = 2048;

  // Waits until an event comes or the time `deadline` is reached, and writes the events to the front of `events`. With
  // TimePoint::min() it does not wait, with kNever it waits without a limit. Returns the number of events: 0 if the
  // deadline was reached or a signal interrupted the wait.
  virtual size_t wait(std::span<PollEvent> events, TimePoint deadline) = 0;

  // Returns whether the poller can be edge-triggered, which add() then decides for each fd. If the result is false,
  // every fd is level-triggered. The engine must then call modify() so that the poller stops reporting what a stream
  // does not want.
  virtual bool is_edge_triggered() const = 0;

 protected:
  // Set by a poller that has a send(); takes_sends() returns it.
  bool takes_sends_ = false;
};

// Makes a poller. Called inside Engine::open(), on the loop's thread. If it fails, open() fails with the same error.
using MakePoller = Result<std::unique_ptr<Poller>> (*)();

// Converts a duration to timespec or __kernel_timespec.
template <class Time>
Time seconds_and_nanoseconds(Duration time) {
  return {.tv_sec = time.count() / 1'000'000'000, .tv_nsec = time.count() % 1'000'000'000};
}

// Returns the timeout for ppoll(2) and pselect(2) that ends a wait at `deadline`. The result is the address of `room`,
// to which the timeout is written, or null for a wait without a limit.
inline const timespec* timeout_until(TimePoint deadline, timespec& room) {
  if (deadline == kNever) return nullptr;
  Duration left = Duration::zero();
  if (deadline != TimePoint::min()) left = std::max(deadline - monotonic_now(), Duration::zero());
  room = seconds_and_nanoseconds<timespec>(left);
  return &room;
}

}  // namespace peal::detail
