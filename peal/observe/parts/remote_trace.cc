// SPDX-License-Identifier: BSD-3-Clause
// There is one slot, which the signal handler fills and the requester reads. Each request has a number, which travels
// with the signal and is stored in slot.asked. The handler and a requester whose time is over both try to replace the
// number by 0, and the one that succeeds owns the slot. A handler that runs too late finds another number and does
// nothing.
#include <peal/observe/parts/remote_trace.h>

#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <peal/base/assert.h>
#include <peal/observe/watched_thread.h>

namespace peal::detail {
namespace {

constexpr int kSignal = SIGURG;

// The data that the signal handler uses. It is static and never destroyed, since a late signal may arrive at any time.
struct Slot {
  std::atomic<bool> taken{false};  // true between open_remote_traces() and close_remote_traces()
  std::atomic<int> asked{0};       // the number of the request that is still unclaimed, or 0
  sem_t filled{};                  // posted when `answer` has been written
  std::atomic<int> answered{0};    // the number of the request that `answer` belongs to; stored after `answer`
  RemoteTrace answer;
};
constinit Slot slot;
int last_number = 0;
struct sigaction action_before;

// Handles SIGURG. All calls are async-signal-safe: lock-free atomics, sem_post(3), and capture() after its warm-up.
void answer(int, siginfo_t* info, void*) {
  const int saved_errno = errno;
  int number = info->si_value.sival_int;
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid() && number != 0 &&
      slot.asked.compare_exchange_strong(number, 0)) {
    capture(slot.answer.trace, 2);  // leaves out this handler and the C library's return frame
    slot.answer.running = running.load(std::memory_order_relaxed);
    slot.answered.store(info->si_value.sival_int, std::memory_order_release);
    ::sem_post(&slot.filled);
  }
  errno = saved_errno;
}

}  // namespace

Result<void> open_remote_traces() {
  if (slot.taken.exchange(true)) return fail(EBUSY);
  warm_up_stack_traces();
  ::sem_init(&slot.filled, 0, 0);
  struct sigaction action{};
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  const int failed = ::sigaction(kSignal, &action, &action_before);
  PEAL_ASSERT(failed == 0, "cannot install the handler of signal {}, errno {}", kSignal, errno);
  return {};
}

void close_remote_traces() {
  ::sigaction(kSignal, &action_before, nullptr);
  slot.taken.store(false);
}

std::optional<RemoteTrace> trace_thread(pid_t thread_id, Duration timeout) {
  const int number = ++last_number;
  slot.asked.store(number);
  siginfo_t info{};
  info.si_signo = kSignal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = number;
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto nanoseconds = until.tv_nsec + timeout.count();
  until.tv_sec += nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  const bool sent = ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), thread_id, kSignal, &info) == 0;
  int waited = -1;
  while (sent && waited != 0) {
    waited = ::sem_clockwait(&slot.filled, CLOCK_MONOTONIC, &until);
    if (waited != 0 && errno != EINTR) break;
  }
  int mine = number;
  if (waited != 0 && slot.asked.compare_exchange_strong(mine, 0)) return std::nullopt;
  // The handler has claimed the request just before the deadline and is writing the answer, so wait until the answer is
  // complete.
  while (waited != 0) waited = ::sem_wait(&slot.filled);
  const int answered = slot.answered.load(std::memory_order_acquire);
  PEAL_ASSERT(answered == number, "trace request {} got the answer to request {}", number, answered);
  return slot.answer;
}

}  // namespace peal::detail
