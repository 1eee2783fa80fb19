// SPDX-License-Identifier: BSD-3-Clause
// AccessLogFile: where `peal serve http --access-log` appends its lines, and how that file is rotated: somebody moves
// it away and sends SIGUSR1 or SIGHUP, and from then on lines go to a new file of the old name. Those of before are in
// the file that was moved away; none is lost.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/process/service_manager.h>

namespace peal::cli {

class AccessLogFile {
 public:
  // Made where there is none. Errors of open(2).
  static Result<std::shared_ptr<AccessLogFile>> open(const std::string& path);

  // Lines go to the file whole: O_APPEND keeps those of several processes apart. Any thread, also during reopen(): then
  // they go to the one file or the other.
  void write(std::string_view lines) const;
  // Appends to what stands at the path now, as open() does; where that fails the old file stays in use. The log says
  // what became of it.
  void reopen() const;

 private:
  AccessLogFile(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  const Fd file_;
};

// Reopens `log`, if there is one, when `loop` hears SIGUSR1 or SIGHUP. SIGHUP is a reload: a service manager is told so
// by `manager`; null: somebody else tells it. A process with nothing to reload goes on, too, instead of being ended.
// `manager` outlives the loop. As Loop::on_signal().
Result<void> reopen_at_signals(Loop& loop, const std::shared_ptr<AccessLogFile>& log, const ServiceManager* manager);

}  // namespace peal::cli
