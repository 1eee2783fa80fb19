// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/accept_guard.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

bool is_starvation(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

AcceptGuard::AcceptGuard() : spare_(open_spare()), limiter_(std::chrono::seconds(1)) {}

AcceptGuard::Verdict AcceptGuard::failed(int error, int listener_fd, TimePoint now, EngineStats& stats) {
  if (error == EAGAIN || error == EWOULDBLOCK) return Verdict::kEmpty;
  ++stats.accepts_failed;
  if (error == EINVAL) return Verdict::kDeaf;
  if (!is_starvation(error)) {
    // EBADF, ENOTSOCK, EOPNOTSUPP and EFAULT are our bugs; the rest is the lost connection's error (accept(2), "Error
    // handling").
    PEAL_ASSERT(error != EBADF && error != ENOTSOCK && error != EFAULT && error != EOPNOTSUPP,
                "accept on fd {} failed with errno {}", listener_fd, error);
    return Verdict::kAgain;
  }
  uint64_t shed_now = shed(listener_fd);
  stats.accepts_shed += shed_now;
  ++stats.accept_pauses;
  pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
  if (auto suppressed = limiter_.admit(now)) {
    PEAL_LOG_WARN("accepting paused for {} ms: {} (shed {} clients; {} such lines suppressed)",
                  std::chrono::duration_cast<std::chrono::milliseconds>(pause_).count(), errno_code(error).message(),
                  shed_now, *suppressed);
  }
  return Verdict::kPause;
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
