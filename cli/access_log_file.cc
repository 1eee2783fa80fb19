// SPDX-License-Identifier: BSD-3-Clause
#include <cli/access_log_file.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include <peal/base/log.h>

namespace peal::cli {
namespace {

Fd open_to_append(const std::string& path) {
  return Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
}

}  // namespace

Result<std::shared_ptr<AccessLogFile>> AccessLogFile::open(const std::string& path) {
  Fd file = open_to_append(path);
  if (!file) return fail(errno);
  return std::shared_ptr<AccessLogFile>(new AccessLogFile(path, std::move(file)));
}

void AccessLogFile::write(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    lines.remove_prefix(static_cast<size_t>(written));
  }
}

// dup3(2) puts the new file in the old one's place in one step, so that a thread that writes needs no lock.
void AccessLogFile::reopen() const {
  const Fd file = open_to_append(path_);
  if (!file || ::dup3(file.get(), file_.get(), O_CLOEXEC) < 0) {
    PEAL_LOG_ERROR("the access log {} cannot be reopened, and the old file stays in use: {}", path_,
                   errno_code(errno).message());
    return;
  }
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
