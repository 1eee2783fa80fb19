// SPDX-License-Identifier: BSD-3-Clause
// DrawnLine: a line on stderr that shows the progress of a run. On a terminal, each draw() replaces the previous line,
// and the destructor removes the last one. If stderr is no terminal, each draw() prints a separate line.
#pragma once

#include <cstddef>
#include <string>

namespace peal::cli {

class DrawnLine {
 public:
  // `mode` is "on", "off" or "auto". With "auto", the line is shown only if stderr is a terminal.
  explicit DrawnLine(const std::string& mode);
  ~DrawnLine();
  DrawnLine(const DrawnLine&) = delete;
  DrawnLine& operator=(const DrawnLine&) = delete;

  bool shows() const { return shows_; }
  // True if stderr is a terminal. On a terminal, each draw() replaces the previous line. Otherwise each draw() prints a
  // separate line.
  bool over_itself() const { return terminal_; }
  // Returns how many columns a line may have: one less than the width of the terminal at present. Returns 100 if the
  // width is unknown or less than 20.
  size_t columns() const;
  void draw(const std::string& line);
  // Removes the line from the terminal. Does nothing if no line is shown.
  void clear();

 private:
  const bool terminal_;
  const bool shows_;
  bool drawn_ = false;
};

}  // namespace peal::cli
