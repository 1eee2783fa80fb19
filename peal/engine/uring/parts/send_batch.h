// SPDX-License-Identifier: BSD-3-Clause
// SendBatch: decides when small sends that wait for a common system call are submitted, and whether sends wait at all.
//
// A batch is submitted with its 16th send, with a send that comes about 50 us after its first one, or at the end of the
// turn. Nobody can know beforehand that the callback, timer or task that follows a send will be slow. So a send that
// has waited for about 1 ms was late. After that, batching pauses for 256 turns with events: no send waits.
//
// If a send is late again soon after a pause, the next pause has twice as many turns, up to 65,536. "Soon" means within
// as much time as the pause took. So if every turn is slow, hardly any answer is late.
//
// Times are stamps of the cycle counter (CycleClock). On a machine without one, no send is ever late.
#pragma once

#include <algorithm>
#include <cstdint>

namespace peal::detail {

class SendBatch {
 public:
  static constexpr unsigned kMostSends = 16;
  static constexpr uint64_t kMostCycles = 150'000;    // About 50 us.
  static constexpr uint64_t kLateCycles = 3'000'000;  // About 1 ms.
  static constexpr unsigned kFewestTurns = 256;
  static constexpr unsigned kMostTurns = 65'536;

  // Counts one more send that waits to be submitted. Returns true if the batch must be submitted now.
  bool add(uint64_t now) {
    if (sends_++ == 0) began_ = now;
    return sends_ >= kMostSends || now - began_ > kMostCycles;
  }
  bool empty() const { return sends_ == 0; }
  // Must be called when the batch is submitted. Returns true if the sends in it have waited too long (kLateCycles).
  // Batching then pauses.
  bool finish(uint64_t now) {
    sends_ = 0;
    if (now - began_ <= kLateCycles) [[likely]]
      return false;
    pause(now);
    return true;
  }
  bool paused() const { return turns_left_ > 0; }
  // Counts one turn that had events. Must be called only during a pause, which ends after a number of such turns.
  void count_turn(uint64_t now) {
    if (--turns_left_ == 0) pause_ended_ = now;
  }

 private:
  void pause(uint64_t now) {
    const bool again = turns_ > 0 && now - pause_ended_ < pause_ended_ - pause_began_;
    turns_ = again ? std::min(turns_ * 2, kMostTurns) : kFewestTurns;
    turns_left_ = turns_;
    pause_began_ = now;
  }

  unsigned sends_ = 0;
  uint64_t began_ = 0;
  unsigned turns_ = 0;  // Turns of the last pause; 0 if there was none.
  unsigned turns_left_ = 0;
  uint64_t pause_began_ = 0;
  uint64_t pause_ended_ = 0;
};

}  // namespace peal::detail
