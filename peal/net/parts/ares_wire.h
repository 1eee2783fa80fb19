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

// Types of c-ares, declared here so that its header is not included.
struct ares_channeldata;  // NOLINT(readability-identifier-naming): the name that c-ares uses
struct ares_options;      // NOLINT(readability-identifier-naming): the name that c-ares uses

namespace peal::detail {

class AresWire {
 public:
  // `on_progress` is called each time after c-ares has handled a socket or a timeout. The call is made outside of
  // c-ares, so it may destroy this object.
  AresWire(Loop& loop, Callback<void()> on_progress);
  ~AresWire();
  AresWire(const AresWire&) = delete;
  AresWire& operator=(const AresWire&) = delete;

  // Opens the channel by ares_init_options(3) with `wanted` and `mask`, except that this class sets the callbacks
  // itself. Must be called once, before any other function. Fails with ENOMEM, EIO (a file could not be read), or
  // another error of ares_error().
  Result<void> open(ares_options wanted, int mask);
  // Opens the channel with the options and servers of `other`, but with `flags` (ARES_FLAG_*).
  Result<void> open_like(const AresWire& other, int flags);
  // Returns the channel. The caller asks questions with c-ares' own functions, and must call rearm_timer() after each
  // of these calls.
  ares_channeldata* channel() const { return channel_; }
  // Sets the timer to the next timeout of c-ares.
  void rearm_timer();

 private:
  // A socket that c-ares has opened. The fd stays open until c-ares closes it, even if `watch` reports an error.
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
