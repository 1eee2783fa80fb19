// SPDX-License-Identifier: BSD-3-Clause
// Draws a LiveView at the end of each interval.
#pragma once

#include <string>

#include <cli/load/drawn_line.h>
#include <load/report/live_view.h>

namespace peal::cli {

class LiveLine {
 public:
  // `mode`: on, off or auto. `options` outlives it.
  LiveLine(const load::LoadOptions& options, const std::string& mode);
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const load::Interval& interval);
  // From the screen; another interval draws it again.
  void clear() { line_.clear(); }

 private:
  const load::LoadOptions& options_;
  DrawnLine line_;
  load::LiveView view_;
};

// Of this process's locale, as the environment names it.
bool speaks_utf8();

}  // namespace peal::cli
