// SPDX-License-Identifier: BSD-3-Clause
// AresWire: one channel of c-ares driven by a loop: its sockets are watches, its timeouts a timer. It belongs to the
// loop's thread and to its ResolverChannel. It may be destroyed after the loop's end on any thread, but never inside
// c-ares; its open questions are then answered with ARES_EDESTRUCTION.
#pragma once

#include <map>
#include <memory>

#include <peal/base/callback.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/loop/watch.h>

// c-ares' names. NOLINTBEGIN(readability-identifier-naming)
struct ares_channeldata;
struct ares_options;
// NOLINTEND(readability-identifier-naming)

namespace peal::detail {

class AresWire {
 public:
  // `on_progress` follows whatever c-ares did because of a socket or of time. It is outside c-ares, and may destroy
  // this.
  AresWire(Loop& loop, Callback<void()> on_progress);
  ~AresWire();
  AresWire(const AresWire&) = delete;
  AresWire& operator=(const AresWire&) = delete;

  // Once, before anything else: ares_init_options(3) by `wanted` and `mask`, but for the callbacks. ENOMEM, EIO.
  Result<void> open(ares_options wanted, int mask);
  // The same, with the options and servers of `other` and the flags ARES_FLAG_*.
  Result<void> open_like(const AresWire& other, int flags);
  // Questions are asked by c-ares' functions; then rearm_timer() is called.
  ares_channeldata* channel() const { return channel_; }
  // Sets the timer for what c-ares waits for next.
  void rearm_timer();

 private:
  // The fd is ours until c-ares closes it, whatever becomes of the watch.
  struct Socket {
    Fd fd;
    std::unique_ptr<Watch> watch;
  };
  struct Calls;

  void process(int readable_fd, int writable_fd);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  Callback<void()> on_progress_;
  std::map<int, Socket> sockets_;  // by fd; c-ares has them open
  TimerId timer_;
  ares_channeldata* channel_ = nullptr;
};

// What a status of c-ares means here.
std::error_code ares_error(int status);

}  // namespace peal::detail
