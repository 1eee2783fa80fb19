// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/parts/signal_hub.h>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <peal/base/assert.h>
#include <peal/loop/parts/signal_watch.h>

namespace peal::detail {
namespace {

// What the handler touches.
struct Arrivals {
  std::atomic<uint64_t> bits{0};  // bit n - 1: signal n has arrived
  std::atomic<int> fd{-1};
  std::atomic<int> inside{0};  // handlers under way: the fd is closed only when there is none
};
constinit Arrivals arrivals;

// Guarded by the mutex.
struct Hub {
  std::mutex mutex;
  std::vector<SignalWatch*> watches;
  std::array<size_t, 65> handlers{};
  std::array<struct sigaction, 65> before{};
  pid_t process = 0;  // whose eventfd it is
};
Hub& hub() {
  static auto* const the_hub = new Hub;  // never destroyed: loops may be static too
  return *the_hub;
}

constexpr uint64_t bit(int signal_number) { return uint64_t{1} << (signal_number - 1); }

bool is_fault(int signal_number) {
  return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGFPE || signal_number == SIGILL ||
         signal_number == SIGTRAP;
}

// Async-signal-safe: lock-free atomics, write(2), sigaction(2).
void receive(int signal_number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  if (is_fault(signal_number) && info->si_code > 0) {
    // Returning repeats the instruction that failed.
    ::signal(signal_number, SIG_DFL);
  } else {
    arrivals.inside.fetch_add(1);
    arrivals.bits.fetch_or(bit(signal_number));
    const uint64_t one = 1;
    // It fails only if the counter is full: then it is readable already; or if there is no fd any more.
    [[maybe_unused]] const ssize_t written = ::write(arrivals.fd.load(), &one, sizeof(one));
    arrivals.inside.fetch_sub(1);
  }
  errno = saved_errno;
}

}  // namespace

Result<void> join_signals(SignalWatch& watch) {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  if (all.watches.empty()) {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return fail(errno);
    arrivals.fd.store(fd);
    all.process = ::getpid();
  }
  all.watches.push_back(&watch);
  return {};
}

void leave_signals(SignalWatch& watch) {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  std::erase(all.watches, &watch);
  if (!all.watches.empty()) return;
  const int fd = arrivals.fd.exchange(-1);
  while (arrivals.inside.load() > 0) std::this_thread::yield();
  ::close(fd);
}

Result<void> take_signal(SignalWatch& watch, int signal_number) {
  // sigaction(2) refuses the rest.
  if (signal_number < 1 || signal_number > 64) return fail(EINVAL);
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  const auto index = static_cast<size_t>(signal_number);
  if (all.handlers[index] == 0) {
    struct sigaction action{};
    action.sa_sigaction = receive;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (::sigaction(signal_number, &action, &all.before[index]) != 0) return fail(errno);
  }
  ++all.handlers[index];
  watch.wanted |= bit(signal_number);
  return {};
}

void give_signal_back(SignalWatch& watch, int signal_number) {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  const auto index = static_cast<size_t>(signal_number);
  PEAL_ASSERT(all.handlers[index] > 0, "signal {} is nobody's", signal_number);
  if (!watch.handles(signal_number)) watch.wanted &= ~bit(signal_number);
  if (--all.handlers[index] > 0) return;
  ::sigaction(signal_number, &all.before[index], nullptr);
  arrivals.bits.fetch_and(~bit(signal_number));
}

Result<int> signal_fd() {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  const int fd = arrivals.fd.load();
  if (all.process == ::getpid()) return fd;
  // Readable: what arrived since the fork was told to the parent's.
  const int own = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  if (own < 0) return fail(errno);
  const int replaced = ::dup3(own, fd, O_CLOEXEC);
  ::close(own);
  PEAL_ASSERT(replaced == fd, "dup3 onto eventfd {} failed with errno {}", fd, errno);
  all.process = ::getpid();
  return fd;
}

void relay_signals() {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  uint64_t count;
  // EAGAIN: another loop was faster. The counter before the bits: what arrives in between makes it readable again.
  if (::read(arrivals.fd.load(), &count, sizeof(count)) < 0) return;
  const uint64_t bits = arrivals.bits.exchange(0);
  for (SignalWatch* watch : all.watches) watch->post(bits & watch->wanted);
}

}  // namespace peal::detail
