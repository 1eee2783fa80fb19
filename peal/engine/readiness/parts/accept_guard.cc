// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/accept_guard.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <peal/base/log.h>

namespace peal::detail {
namespace {

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

AcceptGuard::AcceptGuard() : spare_(open_spare()), limiter_(std::chrono::seconds(1)) {}

Duration AcceptGuard::starved(int error, int listener_fd, TimePoint now, EngineStats& stats) {
  uint64_t shed_now = shed(listener_fd);
  stats.accepts_shed += shed_now;
  ++stats.accept_pauses;
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  if (auto suppressed = limiter_.admit(now)) {
    PEAL_LOG_WARN("accepting paused for {} ms: {} (shed {} clients; {} such lines suppressed)",
                  std::chrono::duration_cast<std::chrono::milliseconds>(pause_).count(), errno_code(error).message(),
                  shed_now, *suppressed);
  }
  return pause_;
}

uint64_t AcceptGuard::shed(int listener_fd) {
  uint64_t count = 0;
  for (int i = 0; i < kShedAtOnce; ++i) {
    if (!spare_) spare_ = open_spare();
    if (!spare_) break;
    spare_.reset();
    Fd unlucky(::accept4(listener_fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int error = unlucky ? 0 : errno;
    if (error == 0) ++count;
    unlucky.reset();
    spare_ = open_spare();
    if (error != 0 && error != ECONNABORTED && error != EINTR) break;
  }
  return count;
}

}  // namespace peal::detail
