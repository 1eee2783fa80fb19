// SPDX-License-Identifier: BSD-3-Clause
// AresWire: drives one channel of c-ares by a loop: its sockets become watches, its timeouts a timer. A ResolverChannel
// owns it and uses it on the loop's thread. It may be destroyed on any thread after the loop's end, but never inside a
// call of c-ares. Open questions are then answered with ARES_EDESTRUCTION.
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
  // `on_progress` is called after c-ares has worked because of a socket or a timeout. It is called outside of c-ares
  // and may destroy this object.
  AresWire(Loop& loop, Callback<void()> on_progress);
  ~AresWire();
  AresWire(const AresWire&) = delete;
  AresWire& operator=(const AresWire&) = delete;

  // Opens the channel by ares_init_options(3) with `wanted` and `mask`, except for the callbacks, which are set here.
  // Must be called once, before all else. ENOMEM, EIO (a file could not be read), or another error of ares_error().
  Result<void> open(ares_options wanted, int mask);
  // Opens the channel with the options and servers of `other`, but with `flags` (ARES_FLAG_*).
  Result<void> open_like(const AresWire& other, int flags);
  // Returns the channel. Ask questions with c-ares' own functions, then call rearm_timer().
  ares_channeldata* channel() const { return channel_; }
  // Sets the timer to the next timeout of c-ares.
  void rearm_timer();

 private:
  // A socket of c-ares. The fd stays open until c-ares closes it, even if its watch has failed.
  struct Socket {
    Fd fd;
    std::unique_ptr<Watch> watch;
  };
  struct Calls;

  void process(int readable_fd, int writable_fd);

  Loop& loop_;
  const std::shared_ptr<Mailbox> mailbox_;
  Callback<void()> on_progress_;
  // The open sockets of c-ares, by fd.
  std::map<int, Socket> sockets_;
  TimerId timer_;
  ares_channeldata* channel_ = nullptr;
};

// Translates a status of c-ares into a Trouble or an errno.
std::error_code ares_error(int status);

}  // namespace peal::detail
