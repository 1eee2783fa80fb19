// SPDX-License-Identifier: BSD-3-Clause
// LiveView: the line that is redrawn while a run lasts. It is told each interval, which is recorded whether or not
// anybody looks, and is a pure function of them: who draws it is cli/.
//
//   12/60 s ▂▃▅▇▇█▇▆ 123,456/s  in flight 1,000  p50 1.20 ms  p99 3.40 ms  max 9.10 ms  errors 0
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include <load/record/outcome.h>

namespace peal::load {

class LiveView {
 public:
  void add(const Interval& interval);
  // At most `columns` wide: what does not fit is left out, the rarest wanted first. With `utf8` the rates of the last
  // intervals are drawn in blocks, else in ASCII; the tallest is the fastest of them.
  std::string line(const LoadOptions& options, size_t columns, bool utf8) const;

 private:
  static constexpr size_t kMostBars = 40;

  std::string bars(size_t count, bool utf8) const;

  Interval last_;
  uint64_t failures_ = 0;
  std::deque<double> rates_;
};

}  // namespace peal::load
