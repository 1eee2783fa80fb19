// SPDX-License-Identifier: BSD-3-Clause
// LiveView: makes the status line that is redrawn while a run lasts. The line depends only on the intervals that were
// added. The code in cli/ draws it. A run records its intervals even if no line is drawn. An example of the line:
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
  // Returns the status line of a run, with at most `columns` columns. If not all parts of the line fit, the least
  // important parts are left out. The line has a bar for each of the last intervals. The height of a bar shows the
  // message rate in its interval. A bar is a block character if `utf8` is true, otherwise an ASCII character.
  std::string line(const LoadOptions& options, size_t columns, bool utf8) const;

 private:
  static constexpr size_t kMostBars = 40;

  std::string bars(size_t count, bool utf8) const;

  Interval last_;
  uint64_t failures_ = 0;
  std::deque<double> rates_;
};

}  // namespace peal::load
