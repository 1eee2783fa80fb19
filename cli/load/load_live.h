// SPDX-License-Identifier: BSD-3-Clause
// Draws a LiveView on stderr at the end of each interval: one line that is drawn over itself on a terminal, as wide as
// that is at the moment, and gone when the run has ended; lines of their own where stderr is no terminal.
#pragma once

#include <string>

#include <load/report/live_view.h>

namespace peal::cli {

class LiveLine {
 public:
  // `mode`: on, off or auto. `options` outlives it.
  LiveLine(const load::LoadOptions& options, const std::string& mode);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const load::Interval& interval);
  // From the screen; another interval draws it again.
  void clear();

 private:
  const load::LoadOptions& options_;
  const bool terminal_;
  const bool shows_;
  bool drawn_ = false;
  load::LiveView view_;
};

// Of this process's locale, as the environment names it.
bool speaks_utf8();

}  // namespace peal::cli
