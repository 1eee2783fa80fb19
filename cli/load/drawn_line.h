// SPDX-License-Identifier: BSD-3-Clause
// DrawnLine: a line on stderr that is drawn over itself on a terminal, as wide as that is at the moment, and gone when
// all is over; lines of their own where stderr is no terminal.
#pragma once

#include <cstddef>
#include <string>

namespace peal::cli {

class DrawnLine {
 public:
  // `mode`: on, off or auto, which is on where stderr is a terminal.
  explicit DrawnLine(const std::string& mode);
  ~DrawnLine();
  DrawnLine(const DrawnLine&) = delete;
  DrawnLine& operator=(const DrawnLine&) = delete;

  bool shows() const { return shows_; }
  bool over_itself() const { return terminal_; }
  // As long as a line may be.
  size_t columns() const;
  void draw(const std::string& line);
  // From the screen.
  void clear();

 private:
  const bool terminal_;
  const bool shows_;
  bool drawn_ = false;
};

}  // namespace peal::cli
