// SPDX-License-Identifier: BSD-3-Clause
// A request has a number, which travels with the signal. Whoever swaps it for 0, the handler or the requester who has
// timed out, owns the slot: a signal that comes late finds another number and does nothing.
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

// What the handler touches: nothing of it ever dies.
struct Slot {
  std::atomic<bool> taken{false};
  std::atomic<int> asked{0};  // the number of the request nobody has claimed
  sem_t filled{};
  std::atomic<int> answered{0};  // the number of the request that `answer` is for; its store releases it
  RemoteTrace answer;
};
constinit Slot slot;
int last_number = 0;
struct sigaction action_before;

// Async-signal-safe: lock-free atomics, capture() once it is warm, sem_post(3).
void answer(int, siginfo_t* info, void*) {
  const int saved_errno = errno;
  int number = info->si_value.sival_int;
  if (info->si_code == SI_QUEUE && info->si_pid == ::getpid() && number != 0 &&
      slot.asked.compare_exchange_strong(number, 0)) {
    capture(slot.answer.trace, 2);  // without this and the C library's return from it
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
  // A handler has the slot: at the last moment, it is just about to fill it.
  while (waited != 0) waited = ::sem_wait(&slot.filled);
  const int answered = slot.answered.load(std::memory_order_acquire);
  PEAL_ASSERT(answered == number, "trace request {} got the answer to request {}", number, answered);
  return slot.answer;
}

}  // namespace peal::detail
