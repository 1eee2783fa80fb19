// SPDX-License-Identifier: BSD-3-Clause
// RunClaim ensures that an object which any thread may start and stop has at most one run at a time. Client and
// WebSocketClient use it. Each run has a number, so a late call that ends an old run cannot end the next one. Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace peal::detail {

class RunClaim {
 public:
  // Begins a run and returns the number of the run. Returns 0 if another run has begun and not ended.
  uint64_t take() {
    uint64_t last = last_;
    return last % 2 == 0 && last_.compare_exchange_strong(last, last + 1) ? last + 1 : 0;
  }

  // True if the run with this number has begun and not ended.
  bool holds(uint64_t number) const { return number % 2 == 1 && last_ == number; }

  // Ends the run with this number, unless it has ended already.
  void end(uint64_t number) {
    if (number % 2 == 1) last_.compare_exchange_strong(number, number + 1);
  }

  // Ends the current run, if there is one.
  void end() { end(last_); }

 private:
  std::atomic<uint64_t> last_ = 0;  // odd: the number of the current run; even: there is none
};

}  // namespace peal::detail
