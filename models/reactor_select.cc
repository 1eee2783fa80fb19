// SPDX-License-Identifier: BSD-3-Clause
// reactor_select (SelectReactorSingleProcess): one thread, non-blocking connections, and the oldest way to wait.
//
//   two sets of bits ─ copy ─> select(2) ─> look at every bit ──┬─ listener: accept, set its bit
//          ^                                                    └─ connection: read ─> frames ─> work ─> write
//          └──────────── set the bit of what each wants next <──────────────────┘
//
// One thread accepts, reads, computes and writes. Each wait passes the kernel a bit for every fd up to the highest. The
// kernel overwrites the bits with its answer, so they are copied before the wait and searched afterwards. The cost of a
// wait depends on how many fds are open, not on how many are ready. When a connection waits for another event, only its
// bits change.
//
// Limits: the sets have no bit for an fd of FD_SETSIZE (1024) or more, and setting such a bit would overwrite other
// memory. A connection with such an fd is refused, which is counted and logged. Otherwise the limits are those of
// reactor_epoll.
#include <sys/select.h>

#include <models/common/reactor/level_service.h>
#include <models/common/reactor/wait_time.h>
#include <models/models.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>

namespace peal::models {
namespace {

// The two sets of bits that are passed to select(2): one for reading and one for writing. The index of a bit is an fd.
class Bits {
 public:
  Bits() {
    FD_ZERO(&readable_);
    FD_ZERO(&writable_);
  }
  static bool can_hold(int fd) { return fd < FD_SETSIZE; }
  // Chooses what select(2) reports about `fd`. With kRead, sets the bit in the set for reading. With kWrite, sets the
  // bit in the set for writing. All other bits of `fd` are cleared, so kClose clears both.
  void ask(int fd, Wants what) {
    FD_CLR(fd, &readable_);
    FD_CLR(fd, &writable_);
    if (what == Wants::kRead) FD_SET(fd, &readable_);
    if (what == Wants::kWrite) FD_SET(fd, &writable_);
    end_ = std::max(end_, fd + 1);
  }
  // Waits by select(2), which clears the bits of all fds that are not ready. Returns the number of bits that are left.
  // Returns 0 if the deadline has passed, or if a signal handler has interrupted select(2). After an interruption, the
  // bits are undefined, so the caller must not check the bits if wait() has returned 0.
  Result<int> wait(TimePoint deadline) {
    const int ms = wait_ms(deadline);
    timeval left{.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
    const int count = ::select(end_, &readable_, &writable_, nullptr, ms < 0 ? nullptr : &left);
    if (count < 0 && errno != EINTR) return fail(errno);
    return std::max(count, 0);
  }
  bool has(int fd) const { return FD_ISSET(fd, &readable_) || FD_ISSET(fd, &writable_); }

 private:
  fd_set readable_{}, writable_{};
  int end_ = 0;  // select(2) checks only the bits below this index
};

}  // namespace

Result<void> reactor_select(ModelRun& run) {
  const int listener = run.listener.get(), stop = run.stop.fd();
  if (!Bits::can_hold(listener) || !Bits::can_hold(stop)) return fail(EMFILE);
  LevelService service(run);
  LogLimiter limiter(std::chrono::seconds(1));
  Bits asked;
  asked.ask(stop, Wants::kRead);
  const auto takes = [&](int fd) {
    if (Bits::can_hold(fd)) {
      asked.ask(fd, Wants::kRead);
      return true;
    }
    if (auto suppressed = limiter.admit(monotonic_now())) {
      PEAL_LOG_WARN("refused a connection with fd {}, because select(2) needs an fd below {} ({} more like it)", fd,
                    FD_SETSIZE, *suppressed);
    }
    return false;
  };
  for (;;) {
    asked.ask(listener, service.accepting() ? Wants::kRead : Wants::kClose);
    Bits ready = asked;
    Result<int> left = ready.wait(service.next_deadline());
    if (!left) return std::unexpected(left.error());
    for (int fd = 0; *left > 0; ++fd) {
      if (!ready.has(fd)) continue;
      --*left;
      if (fd == stop) return {};
      if (fd == listener) {
        service.accept(takes);
      } else {
        asked.ask(fd, service.serve(fd));
      }
    }
    service.close_late([&](int fd) { asked.ask(fd, Wants::kClose); });
  }
}

}  // namespace peal::models
