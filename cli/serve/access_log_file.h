// SPDX-License-Identifier: BSD-3-Clause
// AccessLogFile: the file that `peal serve http --access-log` appends lines to.
//
// Rotation: move the file away, then send SIGUSR1 or SIGHUP to the server. The moved file holds the lines up to the
// signal. Later lines go to a new file of the old name. No line is lost.
//
// The file may also be a pipe: a FIFO, or /dev/stdout. The server never waits for the reader of a pipe. It drops lines
// if the pipe is full or has no reader, and also if a disk is full. The server's own log reports the number of dropped
// lines immediately, and then at most every 10 s. If a FIFO gets a reader again, later lines are written to it.
//
// The process must ignore SIGPIPE, as `peal serve` does.
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
  // Opens the file, and creates it if it does not exist. If the path is a FIFO that no process reads, open() fails: it
  // does not wait for a reader. The error is a short reason, such as "Permission denied".
  static std::expected<std::shared_ptr<AccessLogFile>, std::string> open(const std::string& path);
  AccessLogFile(const AccessLogFile&) = delete;
  AccessLogFile& operator=(const AccessLogFile&) = delete;
  // Logs how many lines were dropped since write() last logged that number, if any were. write() logs the number at
  // most once in 10 s.
  ~AccessLogFile();

  bool is_pipe() const;
  // Appends `lines`, each of which ends with a newline. Several processes, such as workers, may append to one file or
  // pipe:
  // - In a file on a local disk, their lines do not mix, because O_APPEND makes each write(2) append its bytes as a
  //   whole. Only a full disk may cut off a line. A line of another process may then follow on the same line.
  // - In a pipe, lines up to PIPE_BUF (4096 bytes) never mix, because a pipe takes them as a whole. Longer lines could
  //   mix, so they are cut to this length.
  //
  // May be called on any thread, but not by two threads at the same time. Another thread may call reopen() during a
  // write(). Each line then goes to the old file or to the new one.
  void write(std::string_view lines);
  // Opens the path again. Later lines are appended to the file that the path names now. If the path cannot be opened,
  // the old file stays in use. Logs the result.
  void reopen();

 private:
  AccessLogFile(std::string path, Fd file) : path_(std::move(path)), file_(std::move(file)) {}

  void drop(std::string_view lines, int error);
  void say_dropped();

  const std::string path_;
  const Fd file_;
  std::atomic<bool> is_torn_ = false;  // true if only a part of the last line was written, as on a full disk
  uint64_t dropped_ = 0;               // number of dropped lines that were not logged yet
  std::string last_trouble_;
  LogLimiter limiter_{std::chrono::seconds(10)};
};

// Makes `loop` handle two signals, which would otherwise end the process:
// - SIGUSR1: reopens `log`.
// - SIGHUP: tells the service manager that a reload begins, reopens `log`, and tells the service manager that the
//   reload has ended. SIGUSR1 does not count as a reload, because systemd asks for a reload by SIGHUP
//   (Type=notify-reload).
//
// If `log` is null, no file is reopened, but the signals do not end the process. If `manager` is null, the service
// manager is not told. Otherwise `manager` must outlive `loop`. Returns the errors of Loop::on_signal().
Result<void> reopen_at_signals(Loop& loop, const std::shared_ptr<AccessLogFile>& log, const ServiceManager* manager);

}  // namespace peal::cli
