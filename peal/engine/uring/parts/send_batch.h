// SPDX-License-Identifier: BSD-3-Clause
// SendBatch: when small sends that wait for one trip into the kernel must make it, and whether any are to wait at all.
//
// A send waits for 15 others, for one that comes about 50 us later, or for the end of the turn. Nobody can know that
// the callback, timer or task behind it will be slow. But a send that has waited about 1 ms was late, and from then on,
// for 256 turns with events, none waits. If one is late again within as long as that took, it is twice as many turns,
// up to 65,536: where every turn is slow, hardly an answer is late.
//
// Times are stamps of the cycle counter (CycleClock). Where there is none nothing is ever late.
#pragma once

#include <algorithm>
#include <cstdint>

namespace peal::detail {

class SendBatch {
 public:
  static constexpr unsigned kMostSends = 16;
  static constexpr uint64_t kMostCycles = 150'000;    // about 50 us
  static constexpr uint64_t kLateCycles = 3'000'000;  // about 1 ms
  static constexpr unsigned kFewestTurns = 256;
  static constexpr unsigned kMostTurns = 65'536;

  // One more waits. True when the trip is due.
  bool add(uint64_t now) {
    if (sends_++ == 0) began_ = now;
    return sends_ >= kMostSends || now - began_ > kMostCycles;
  }
  bool empty() const { return sends_ == 0; }
  // The trip is made. True when they were late, so that batching pauses.
  bool finish(uint64_t now) {
    sends_ = 0;
    if (now - began_ <= kLateCycles) [[likely]]
      return false;
    pause(now);
    return true;
  }
  bool paused() const { return turns_left_ > 0; }
  // A turn without batches begins.
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
  unsigned turns_ = 0;  // of the last pause; 0: there was none
  unsigned turns_left_ = 0;
  uint64_t pause_began_ = 0;
  uint64_t pause_ended_ = 0;
};

}  // namespace peal::detail
