// SPDX-License-Identifier: BSD-3-Clause
// reactor_select (SelectReactorSingleProcess): one thread, connections that do not block, and the oldest way to wait.
//
//   two sets of bits ─ copy ─> select(2) ─> look at every bit ──┬─ listener: accept, set its bit
//          ^                                                    └─ connection: read ─> frames ─> work ─> write
//          └──────────── set the bit of what each wants next <──────────────────┘
//
// Who accepts, reads, computes and writes: the one thread; work never changes hands. Every wait hands the kernel a bit
// for each descriptor up to the highest, and gets them back overwritten with the answer: so they are copied first and
// searched afterwards, and a wait costs what is open, not what is ready. That a connection wants something else next
// costs nothing but a bit.
//
// What it cannot do: hold a descriptor of FD_SETSIZE (1024) or more. The sets have no bit for it, and to set one would
// write beside them; such connections are refused, which is counted and logged. What reactor_epoll cannot do it cannot.
#include <sys/select.h>

#include <models/common/reactor/level_service.h>
#include <models/common/reactor/wait_time.h>
#include <models/models.h>
#include <peal/base/log.h>
#include <peal/base/log_limiter.h>

namespace peal::models {
namespace {

// What is asked of select.
class Bits {
 public:
  Bits() {
    FD_ZERO(&readable_);
    FD_ZERO(&writable_);
  }
  static bool can_hold(int fd) { return fd < FD_SETSIZE; }
  // kClose: for nothing.
  void ask(int fd, Wants what) {
    FD_CLR(fd, &readable_);
    FD_CLR(fd, &writable_);
    if (what == Wants::kRead) FD_SET(fd, &readable_);
    if (what == Wants::kWrite) FD_SET(fd, &writable_);
    end_ = std::max(end_, fd + 1);
  }
  // Waits. How many bits are left set here; 0 after an interruption too.
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
  int end_ = 0;  // no bit from here on was ever set
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
    if (Bits::can_hold(fd)) return asked.ask(fd, Wants::kRead), true;
    if (auto suppressed = limiter.admit(monotonic_now())) {
      PEAL_LOG_WARN("refused fd {}: select ends at {} ({} more like it)", fd, FD_SETSIZE, *suppressed);
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
