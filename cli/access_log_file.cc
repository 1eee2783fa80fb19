// SPDX-License-Identifier: BSD-3-Clause
#include <cli/access_log_file.h>

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

// O_NONBLOCK is for pipes, and changes nothing about a file on a disk.
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

// Writes the whole lines that a pipe takes at once or not at all, PIPE_BUF bytes at most (pipe(7)). Returns how much of
// `lines` that was; -1: errno.
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
  // So that the half line stands alone.
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

// dup3(2) puts the new file in the old one's place in one step, so that a thread that writes needs no lock.
void AccessLogFile::reopen() {
  const Fd file = open_to_append(path_);
  if (!file || ::dup3(file.get(), file_.get(), O_CLOEXEC) < 0) {
    PEAL_LOG_ERROR("the access log {} cannot be reopened, and the old file stays in use: {}", path_, why_not(errno));
    return;
  }
  is_torn_ = false;
  PEAL_LOG_INFO("the access log {} is reopened", path_);
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
