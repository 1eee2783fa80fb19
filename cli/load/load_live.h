// SPDX-License-Identifier: BSD-3-Clause
// LiveLine: shows the progress of a run in one line on stderr, which is updated at the end of each interval.
#pragma once

#include <string>

#include <cli/load/drawn_line.h>
#include <load/report/live_view.h>

namespace peal::cli {

class LiveLine {
 public:
  // `mode` is "on", "off" or "auto". With "auto", the line is shown only if stderr is a terminal. `options` must
  // outlive this object.
  LiveLine(const load::LoadOptions& options, const std::string& mode);
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const load::Interval& interval);
  // Removes the line from the terminal. The next show() draws a line again.
  void clear() { line_.clear(); }

 private:
  const load::LoadOptions& options_;
  DrawnLine line_;
  load::LiveView view_;
};

// True if the locale of this process's environment uses UTF-8. The first variable of LC_ALL, LC_CTYPE and LANG that is
// set and not empty names the locale. False if there is no such variable.
bool speaks_utf8();

}  // namespace peal::cli
