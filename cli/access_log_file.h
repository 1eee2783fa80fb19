// SPDX-License-Identifier: BSD-3-Clause
// AccessLogFile: where `peal serve http --access-log` appends its lines, and how that file is rotated: somebody moves
// it away and sends SIGUSR1 or SIGHUP, and from then on lines go to a new file of the old name. Those of before are in
// the file that was moved away; none is lost.
//
// It may be a pipe too: a FIFO, or /dev/stdout. A server never waits for whoever reads it. Lines that the pipe has no
// room for, and those that nobody reads, are dropped, as are those for which a disk has no room. The log says how many,
// at once and then every ten seconds. When somebody reads the FIFO again, lines go there again.
//
// SIGPIPE is ignored by then: `peal serve` does so.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include <peal/base/fd.h>
#include <peal/base/log_limiter.h>
#include <peal/base/result.h>
#include <peal/loop/loop.h>
#include <peal/process/service_manager.h>

namespace peal::cli {

class AccessLogFile {
 public:
  // Made where there is none. Does not wait: a FIFO that nobody reads is an error. The error is why, in a few words.
  static std::expected<std::shared_ptr<AccessLogFile>, std::string> open(const std::string& path);
  AccessLogFile(const AccessLogFile&) = delete;
  AccessLogFile& operator=(const AccessLogFile&) = delete;
  // The log says how many lines were dropped since it last said so.
  ~AccessLogFile();

  bool is_pipe() const;
  // Each line ends with a newline. Lines go to the file whole: O_APPEND keeps those of several processes apart, and a
  // pipe takes at most PIPE_BUF (4096) bytes at once or not at all, to which a longer line is cut. Any thread, one at a
  // time; also during reopen(): then they go to the one file or the other.
  void write(std::string_view lines);
  // Appends to what stands at the path now, as open() does; where that fails the old file stays in use. The log says
  // what became of it.
  void reopen();

 private:
  AccessLogFile(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  void drop(std::string_view lines, int error);
  void say_dropped();

  const std::string path_;
  const Fd file_;
  std::atomic<bool> is_torn_ = false;  // a disk had room for a part of the last line
  uint64_t dropped_ = 0;               // lines that the log has not told of
  std::string last_trouble_;
  LogLimiter limiter_{std::chrono::seconds(10)};
};

// Reopens `log`, if there is one, when `loop` hears SIGUSR1 or SIGHUP. SIGHUP is a reload: a service manager is told so
// by `manager`; null: somebody else tells it. A process with nothing to reload goes on, too, instead of being ended.
// `manager` outlives the loop. As Loop::on_signal().
Result<void> reopen_at_signals(Loop& loop, const std::shared_ptr<AccessLogFile>& log, const ServiceManager* manager);

}  // namespace peal::cli
