// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/work.h>

#include <sys/prctl.h>

#include <csignal>
#include <ctime>

#include <peal/base/assert.h>

namespace peal::models {
namespace {

constexpr int64_t kNanosecondsPerSecond = 1'000'000'000;

int64_t thread_cpu_ns() {
  timespec now{};
  const int done = ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  PEAL_ASSERT(done == 0, "clock_gettime(CLOCK_THREAD_CPUTIME_ID) failed");
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

// True if SIGTERM or SIGINT is pending, which means that the server has to end (stop.h).
bool stop_is_asked() {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1;
}

void compute(Duration time) {
  const int64_t until = thread_cpu_ns() + time.count();
  while (thread_cpu_ns() < until && !stop_is_asked()) {
  }
}

// Sleeps for `time`. If SIGTERM or SIGINT is already pending, returns immediately. If a blocked signal arrives during
// the sleep, the sleep continues to its end. By default, the kernel may wake a thread up to 50 us late (timer slack).
// The first call on each thread reduces this delay to 1 ns (prctl(2), PR_SET_TIMERSLACK).
void sleep(Duration time) {
  if (stop_is_asked()) return;
  thread_local const int exact = ::prctl(PR_SET_TIMERSLACK, 1UL);
  static_cast<void>(exact);
  timespec left{.tv_sec = time.count() / kNanosecondsPerSecond, .tv_nsec = time.count() % kNanosecondsPerSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

}  // namespace

void do_slow_work(const Work& work) {
  if (work.kind == Work::Kind::kCpu) {
    compute(work.time);
  } else {
    sleep(work.time);
  }
}

}  // namespace peal::models
