// SPDX-License-Identifier: BSD-3-Clause
#include <cli/serve/access_log_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include <peal/base/log.h>

namespace peal::cli {
namespace {

// O_NONBLOCK makes open() fail if the path is a FIFO that no process reads, and makes write() fail if a pipe is full.
// Without O_NONBLOCK, both calls would wait for the reader of the pipe. For a file on a disk, O_NONBLOCK has no effect.
Fd open_to_append(const std::string& path) {
  return Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644));
}

std::string why_not(int error) {
  switch (error) {
    case ENXIO: return "it is a FIFO that nobody reads, or a socket";
    case EPIPE: return "nobody reads it";
    case EAGAIN: return "it is read too slowly";
    default: return errno_code(error).message();
  }
}

// Writes the first part of `lines` to a pipe. A pipe takes a write of at most PIPE_BUF bytes completely or not at all
// (pipe(7)). A larger write could end in the middle of a line, so the function writes at most PIPE_BUF bytes:
// - Usually the function writes as many whole lines as fit into PIPE_BUF bytes.
// - If the first line alone does not fit, the function writes the start of this line and a newline. The rest of the
//   line is cut off.
//
// Returns how many bytes of `lines` are finished. A byte is finished if it was written or cut off. Returns -1 and sets
// errno if the write fails.
ssize_t write_to_pipe(int fd, std::string_view lines) {
  const size_t last = lines.substr(0, PIPE_BUF).rfind('\n');
  if (last != std::string_view::npos) return ::write(fd, lines.data(), last + 1);
  std::string start(lines.substr(0, PIPE_BUF - 1));
  start += '\n';
  if (::write(fd, start.data(), start.size()) < 0) return -1;
  return static_cast<ssize_t>(std::min(lines.find('\n'), lines.size() - 1) + 1);
}

}  // namespace

std::expected<std::shared_ptr<AccessLogFile>, std::string> AccessLogFile::open(const std::string& path) {
  Fd file = open_to_append(path);
  if (!file) return std::unexpected(why_not(errno));
  return std::shared_ptr<AccessLogFile>(new AccessLogFile(path, std::move(file)));
}

AccessLogFile::~AccessLogFile() {
  if (dropped_ > 0) say_dropped();
}

bool AccessLogFile::is_pipe() const {
  struct stat status{};
  return ::fstat(file_.get(), &status) == 0 && S_ISFIFO(status.st_mode);
}

void AccessLogFile::write(std::string_view lines) {
  const bool to_pipe = is_pipe();
  // If an earlier write has ended in the middle of a line, for example because the disk was full, first writes a
  // newline. Otherwise the next line would be joined to the incomplete line. If the newline cannot be written, drops
  // `lines`.
  if (is_torn_.exchange(false) && ::write(file_.get(), "\n", 1) != 1) {
    is_torn_ = true;
    return drop(lines, errno);
  }
  bool in_midst = false;
  while (!lines.empty()) {
    const ssize_t written =
        to_pipe ? write_to_pipe(file_.get(), lines) : ::write(file_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = errno;
      is_torn_ = in_midst;
      return drop(lines, error);
    }
    in_midst = lines[static_cast<size_t>(written) - 1] != '\n';
    lines.remove_prefix(static_cast<size_t>(written));
  }
}

void AccessLogFile::drop(std::string_view lines, int error) {
  dropped_ += static_cast<uint64_t>(std::ranges::count(lines, '\n'));
  last_trouble_ = why_not(error);
  if (limiter_.admit(monotonic_now())) say_dropped();
}

void AccessLogFile::say_dropped() {
  PEAL_LOG_WARN("lines of the access log {} are dropped ({}): {}", path_, std::exchange(dropped_, 0), last_trouble_);
}

// A write() may run on another thread at the same time. No lock is needed, because dup3(2) replaces the old file with
// the new one atomically.
void AccessLogFile::reopen() {
  const Fd file = open_to_append(path_);
  if (!file || ::dup3(file.get(), file_.get(), O_CLOEXEC) < 0) {
    PEAL_LOG_ERROR("the access log {} cannot be reopened, and the old file stays in use: {}", path_, why_not(errno));
    return;
  }
  is_torn_ = false;
  PEAL_LOG_INFO("the access log {} was reopened", path_);
}

Result<void> reopen_at_signals(Loop& loop, const std::shared_ptr<AccessLogFile>& log, const ServiceManager* manager) {
  const Result<SignalId> rotated = loop.on_signal(SIGUSR1, [log] {
    if (log) log->reopen();
  });
  const Result<SignalId> reloaded = loop.on_signal(SIGHUP, [log, manager] {
    if (manager != nullptr) manager->reloading();
    if (log) log->reopen();
    if (manager != nullptr) manager->ready();
  });
  if (rotated && reloaded) return {};
  return std::unexpected((rotated ? reloaded : rotated).error());
}

}  // namespace peal::cli
