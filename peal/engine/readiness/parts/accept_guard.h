// SPDX-License-Identifier: BSD-3-Clause
// AcceptGuard: what an engine does when accept(2) fails, so that accepting never spins and never dies. One for each
// engine, on its thread.
//
// Out of fds or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), the listener sheds a few waiting clients with a spare fd
// (close the spare, accept, close, open the spare again: the client sees its connection end instead of hanging), then
// pauses with a doubling back-off of 10 ms to 1 s. One log line a second at most.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <peal/base/clock.h>
#include <peal/base/fd.h>
#include <peal/base/log_limiter.h>
#include <peal/engine/engine.h>

namespace peal::detail {

class AcceptGuard {
 public:
  // Opens the spare fd.
  AcceptGuard();
  // Whether that error of accept(2) is for want of fds or memory.
  static bool is_starved(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
  }
  // Such an error has come: sheds, and answers how long to pause. Counts into `stats`.
  Duration starved(int error, int listener_fd, TimePoint now, EngineStats& stats);
  // The pause of now.
  Duration pause() const { return std::max(pause_, kFirstPause); }
  // An accept went well: the next pause starts short again.
  void succeeded() { pause_ = {}; }

 private:
  static constexpr Duration kFirstPause = std::chrono::milliseconds(10);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);
  static constexpr int kShedAtOnce = 16;

  uint64_t shed(int listener_fd);

  Fd spare_;
  Duration pause_{};  // the last one, without a success since
  LogLimiter limiter_;
};

}  // namespace peal::detail
