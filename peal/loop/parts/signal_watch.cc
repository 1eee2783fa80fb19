// SPDX-License-Identifier: BSD-3-Clause
#include <peal/loop/parts/signal_watch.h>

#include <pthread.h>

#include <algorithm>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/loop/parts/signal_hub.h>

namespace peal::detail {

SignalWatch::~SignalWatch() {
  PEAL_ASSERT(!watch_, "{} handlers of signals still watched", handlers_.size());
  if (!joined_) return;
  // First: what is pending must not slip out and meet the disposition.
  if (thread_ == std::this_thread::get_id()) ::pthread_sigmask(SIG_BLOCK, &unblocked_, nullptr);
  while (!handlers_.empty()) cancel(handlers_.back().id);
  leave_signals(*this);
}

Result<SignalId> SignalWatch::add(int signal_number, Loop::Task handler) {
  PEAL_ASSERT(handler, "signal {} without a handler", signal_number);
  if (!joined_) {
    if (const Result<void> joined = join_signals(*this); !joined) return std::unexpected(joined.error());
    joined_ = true;
    thread_ = std::this_thread::get_id();
  }
  handlers_.push_back({{++last_id_}, signal_number, std::make_shared<Loop::Task>(std::move(handler))});
  if (const Result<void> taken = take_signal(*this, signal_number); !taken) {
    handlers_.pop_back();
    return std::unexpected(taken.error());
  }
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
  // Its closure dies last: it may call in.
  const Handler gone = std::move(*found);
  handlers_.erase(found);
  give_signal_back(*this, gone.signal_number);
  return true;
}

bool SignalWatch::handles(int signal_number) const {
  return std::ranges::find(handlers_, signal_number, &Handler::signal_number) != handlers_.end();
}

void SignalWatch::attach() {
  if (!joined_ || watch_) return;
  const Result<int> fd = signal_fd();
  const Result<WatchId> watch = fd ? loop_.engine().watch(*fd, true, false, *this) : std::unexpected(fd.error());
  if (watch) {
    watch_ = *watch;
  } else {
    PEAL_LOG_ERROR("this loop hears of no signal: {}", watch.error().message());
  }
}

void SignalWatch::post(uint64_t bits) {
  if (bits != 0 && arrived_.fetch_or(bits) == 0) loop_.mailbox()->insist([this] { deliver(arrived_.exchange(0)); });
}

void SignalWatch::on_ready(bool, bool) { relay_signals(); }
void SignalWatch::on_unwatched() { watch_ = {}; }

// Handlers that are added meanwhile wait for the next signal.
void SignalWatch::deliver(uint64_t bits) {
  std::vector<SignalId> ids;
  for (const Handler& each : handlers_) {
    if ((bits >> (each.signal_number - 1) & 1) != 0) ids.push_back(each.id);
  }
  for (const SignalId id : ids) {
    const auto found = std::ranges::find(handlers_, id, &Handler::id);
    if (found == handlers_.end()) continue;
    const std::shared_ptr<Loop::Task> task = found->task;
    loop_.guard("a signal's handler", *task);
  }
}

}  // namespace peal::detail
