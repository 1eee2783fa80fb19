// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/parts/signal_watch.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::detail {
namespace {

// The state that the signal handler uses; it consists of lock-free atomics only.
struct Arrivals {
  std::atomic<uint64_t> bits{0};  // bit n - 1 is set if signal n has arrived
  std::atomic<int> fd{-1};        // the eventfd, or -1
  std::atomic<int> inside{0};     // signal handlers in progress; the fd is closed only when there are none
};
constinit Arrivals arrivals;

// The registry of all SignalWatches of the process. `mutex` guards all other members. The eventfd exists while
// `watches` is not empty.
struct Hub {
  std::mutex mutex;
  std::vector<SignalWatch*> watches;
  std::array<size_t, 65> handlers{};          // number of handlers per signal in all loops
  std::array<struct sigaction, 65> before{};  // dispositions to restore when a signal's last handler is cancelled
  pid_t process = 0;                          // the process that made the eventfd
};
Hub& hub() {
  static auto* const the_hub = new Hub;  // never destroyed, because a static Loop may be destroyed later than the hub
  return *the_hub;
}

constexpr uint64_t bit(int signal_number) { return uint64_t{1} << (signal_number - 1); }

bool is_fault(int signal_number) {
  return signal_number == SIGSEGV || signal_number == SIGBUS || signal_number == SIGFPE || signal_number == SIGILL ||
         signal_number == SIGTRAP;
}

// The signal handler of all signals that a loop handles. It is async-signal-safe: it uses only lock-free atomics,
// write(2) and signal(2).
void receive(int signal_number, siginfo_t* info, void*) {
  const int saved_errno = errno;
  if (is_fault(signal_number) && info->si_code > 0) {
    // After this handler returns, the faulting instruction runs again, and the signal then has its default effect.
    ::signal(signal_number, SIG_DFL);
  } else {
    arrivals.inside.fetch_add(1);
    arrivals.bits.fetch_or(bit(signal_number));
    const uint64_t one = 1;
    // The write may fail in two cases, and both are harmless. Either the counter is full, and the fd is readable
    // already, or the fd is closed.
    [[maybe_unused]] const ssize_t written = ::write(arrivals.fd.load(), &one, sizeof(one));
    arrivals.inside.fetch_sub(1);
  }
  errno = saved_errno;
}

}  // namespace

// Adds this SignalWatch to the hub. The first SignalWatch in the hub makes the eventfd. Fails with EMFILE, ENFILE or
// ENOMEM if there is no fd or memory.
Result<void> SignalWatch::join_hub() {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  if (all.watches.empty()) {
    const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return fail(errno);
    arrivals.fd.store(fd);
    all.process = ::getpid();
  }
  all.watches.push_back(this);
  joined_ = true;
  thread_ = std::this_thread::get_id();
  return {};
}

SignalWatch::~SignalWatch() {
  if (!joined_) return;
  // The signals are blocked before the handlers are cancelled. Otherwise a signal that is still pending would meet the
  // restored disposition, which may end the process.
  if (thread_ == std::this_thread::get_id()) ::pthread_sigmask(SIG_BLOCK, &unblocked_, nullptr);
  while (!handlers_.empty()) cancel(handlers_.back().id);
  watch_.reset();  // before the eventfd is closed, in case the loop has not ended
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  std::erase(all.watches, this);
  if (!all.watches.empty()) return;
  const int fd = arrivals.fd.exchange(-1);
  while (arrivals.inside.load() > 0) std::this_thread::yield();
  ::close(fd);
}

// Counts one more handler of the signal. For the first handler in the process, installs receive(). cancel() reverses
// both. Fails with EINVAL if there is no such signal or it cannot be caught.
Result<void> SignalWatch::handle_signal(int signal_number) {
  // bit() works only for the numbers 1 to 64. Numbers in this range that are invalid are refused by sigaction(2) below.
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
  wanted_ |= bit(signal_number);
  return {};
}

Result<SignalId> SignalWatch::add(int signal_number, Loop::Callback handler) {
  PEAL_ASSERT(handler, "signal {} without a handler", signal_number);
  Result<void> taken = joined_ ? Result<void>() : join_hub();
  // The statements that may throw come before handle_signal(), because its effect would have to be reversed after an
  // exception.
  Handler added{{last_id_ + 1}, signal_number, std::make_shared<Loop::Callback>(std::move(handler))};
  handlers_.reserve(handlers_.size() + 1);
  if (taken) taken = handle_signal(signal_number);
  if (!taken) return std::unexpected(taken.error());
  ++last_id_;
  handlers_.push_back(std::move(added));
  sigset_t it;
  sigset_t before;
  ::sigemptyset(&it);
  ::sigaddset(&it, signal_number);
  ::pthread_sigmask(SIG_UNBLOCK, &it, &before);
  if (::sigismember(&before, signal_number) == 1 && thread_ == std::this_thread::get_id()) {
    ::sigaddset(&unblocked_, signal_number);
  }
  return handlers_.back().id;
}

bool SignalWatch::cancel(SignalId id) {
  const auto found = std::ranges::find(handlers_, id, &Handler::id);
  if (found == handlers_.end()) return false;
  // The handler's closure is destroyed after the mutex is released, because its destructor may call cancel() or add().
  const Handler gone = std::move(*found);
  handlers_.erase(found);
  const int number = gone.signal_number;
  const auto index = static_cast<size_t>(number);
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  PEAL_ASSERT(all.handlers[index] > 0, "signal {} has no handler to cancel", number);
  if (std::ranges::find(handlers_, number, &Handler::signal_number) == handlers_.end()) wanted_ &= ~bit(number);
  if (--all.handlers[index] > 0) return true;
  ::sigaction(number, &all.before[index], nullptr);
  arrivals.bits.fetch_and(~bit(number));
  return true;
}

// Returns the hub's eventfd. In a child of fork(2), the first call replaces the parent's eventfd with a new one.
Result<int> SignalWatch::shared_fd() {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  const int fd = arrivals.fd.load();
  if (all.process == ::getpid()) return fd;
  // The counter starts at 1, so the new fd is readable at once. Signals that arrived since the fork were written to the
  // parent's eventfd, but their bits are still set here.
  const int own = ::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  if (own < 0) return fail(errno);
  const int replaced = ::dup3(own, fd, O_CLOEXEC);
  ::close(own);
  PEAL_ASSERT(replaced == fd, "dup3 onto eventfd {} failed with errno {}", fd, errno);
  all.process = ::getpid();
  return fd;
}

void SignalWatch::attach() {
  if (!joined_ || (watch_ && !watch_->error())) return;
  auto failed = [](std::error_code error) { PEAL_LOG_ERROR("this loop cannot handle signals: {}", error.message()); };
  const Result<int> fd = shared_fd();
  if (!fd) {
    failed(fd.error());
    return;
  }
  watch_.emplace(loop_, *fd, Readiness{.readable = true}, [](Readiness) { post_arrivals(); }, failed);
}

// Called when the eventfd is readable. Takes the bits of the signals that have arrived, and posts a call of
// call_handlers() to every loop that handles one of them.
void SignalWatch::post_arrivals() {
  Hub& all = hub();
  const std::lock_guard lock(all.mutex);
  uint64_t count;
  // The read fails with EAGAIN if another loop has already read the eventfd. The eventfd is read before the bits are
  // taken, so a signal that arrives in between makes the eventfd readable again.
  if (::read(arrivals.fd.load(), &count, sizeof(count)) < 0) return;
  const uint64_t bits = arrivals.bits.exchange(0);
  for (SignalWatch* watch : all.watches) {
    const uint64_t concerned = bits & watch->wanted_;
    if (concerned == 0 || watch->arrived_.fetch_or(concerned) != 0) continue;
    watch->loop_.mailbox()->insist([watch] { watch->call_handlers(watch->arrived_.exchange(0)); });
  }
}

// Calls the handlers of the signals in `bits`. A handler that is added during these calls is called only for later
// signals.
void SignalWatch::call_handlers(uint64_t bits) {
  std::vector<SignalId> ids;
  for (const Handler& each : handlers_) {
    if ((bits & bit(each.signal_number)) != 0) ids.push_back(each.id);
  }
  for (const SignalId id : ids) {
    const auto found = std::ranges::find(handlers_, id, &Handler::id);
    if (found == handlers_.end()) continue;
    const std::shared_ptr<Loop::Callback> task = found->task;
    loop_.guard("a signal's handler", *task);
  }
}

}  // namespace peal::detail
