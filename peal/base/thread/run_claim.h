// SPDX-License-Identifier: BSD-3-Clause
// RunClaim: one run at a time of something that any thread may start and stop, as Client and WebSocketClient are. A run
// is known by its number, so that the end of an old one does not end the next. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace peal::detail {

class RunClaim {
 public:
  // The number of the run that begins; 0: another one has not ended.
  uint64_t take() {
    uint64_t last = last_;
    return last % 2 == 0 && last_.compare_exchange_strong(last, last + 1) ? last + 1 : 0;
  }
  // Whether run `number` has not ended.
  bool holds(uint64_t number) const { return number % 2 == 1 && last_ == number; }
  // Ends run `number`, unless it has ended already.
  void end(uint64_t number) {
    if (number % 2 == 1) last_.compare_exchange_strong(number, number + 1);
  }
  // Ends the run there is, if any.
  void end() { end(last_); }

 private:
  std::atomic<uint64_t> last_ = 0;  // odd: the number of the run there is
};

}  // namespace peal::detail
