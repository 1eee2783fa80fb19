// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/readiness/parts/listener_set.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <tuple>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>
#include <peal/engine/parts/socket_setup.h>

namespace peal::detail {
namespace {

Fd open_spare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

Result<ListenerId> ListenerSet::bind(const SocketAddress& address, const ListenOptions& options) {
  Result<Fd> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  const SocketFile file = SocketFile::of(fd->get());
  return add_listener(std::move(*fd), file, false);
}

Result<ListenerId> ListenerSet::adopt(Fd listening, const AdoptOptions& options) {
  if (Result<void> done = prepare_listener(listening.get(), options.socket); !done) {
    return std::unexpected(done.error());
  }
  return add_listener(std::move(listening), {}, options.shared);
}

ListenerId ListenerSet::add_listener(Fd fd, const SocketFile& file, bool shared) {
  uint32_t slot = listeners_.acquire();
  Listener& listener = listeners_[slot];
  listener = Listener{SlotLinks(listener), std::move(fd), file, shared};
  return {slot, listener.generation};
}

Result<SocketAddress> ListenerSet::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) return fail(EBADF);
  return detail::local_address(listener->fd.get());
}

// Returns the listener. If the id is dead, counts a stale call and returns null.
ListenerSet::Listener* ListenerSet::find(ListenerId id) {
  Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) ++stats_.stale_calls;
  return listener;
}

// Pauses the listener: removes it from the poller, so that the poller does not report waiting clients during the pause.
void ListenerSet::pause(Listener& listener, TimePoint until) {
  PEAL_ASSERT(listener.resume_at == kNever, "fd {} is paused already", listener.fd.get());
  leave_poller(listener);
  listener.resume_at = until;
  next_resume_ = std::min(next_resume_, listener.resume_at);
}

void ListenerSet::leave_poller(Listener& listener) {
  if (!std::exchange(listener.armed, false)) return;
  poller_->remove(listener.fd.get(), key_(listener.slot, listener.generation));
}

// Accepts the connections whose handshake the kernel had finished before the listener was stopped. Without this,
// closing the socket would reset these connections. Returns how many there were.
size_t ListenerSet::accept_late(int fd, AcceptEvents& events) {
  size_t count = 0;
  for (size_t tries = 0; tries < kMostLate; ++tries) {
    Fd late(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!late && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!late) break;
    ++count;
    ++stats_.accepts;
    ++stats_.accepted_late;
    events.on_accepted(LooseStream(std::move(late)));
  }
  return count;
}

void ListenerSet::open(Poller& poller, MakeKey key) {
  poller_ = &poller;
  key_ = key;
  spare_ = open_spare();
}

void ListenerSet::accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  PEAL_ASSERT(listener->events == nullptr, "listener {} accepts already", id.slot);
  PEAL_ASSERT(poller_ != nullptr, "listener {} accepts while the engine is not open", id.slot);
  listener->events = &events;
  if (Result<void> polled = start_polling(*listener); !polled) {
    PEAL_LOG_ERROR("a listening socket cannot be polled: {}; it is tried again after a pause",
                   polled.error().message());
  }
}

// Makes the poller watch the listener. If that fails, the listener pauses as it does when accept(2) fails, and resume()
// tries again.
Result<void> ListenerSet::start_polling(Listener& listener) {
  Result<void> added = poller_->add(listener.fd.get(), key_(listener.slot, listener.generation), kReadable, false);
  listener.armed = added.has_value();
  if (!added) pause(listener, monotonic_now() + std::max(starved_for_, kFirstPause));
  return added;
}

void ListenerSet::resume(TimePoint now) {
  if (next_resume_ == kNever || now < next_resume_) return;
  next_resume_ = kNever;
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    Listener& listener = listeners_[slot];
    if (listener.generation == 0 || listener.resume_at == kNever) continue;
    if (listener.resume_at <= now) {
      listener.resume_at = kNever;
      std::ignore = start_polling(listener);
    }
    next_resume_ = std::min(next_resume_, listener.resume_at);
  }
}

void ListenerSet::stop(ListenerId id) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  if (listener->events != nullptr) {
    leave_poller(*listener);
    last_completions_.push_back({std::move(listener->fd), listener->events, listener->file});
  } else {
    close_listening_socket(std::move(listener->fd), listener->file);
  }
  listener->resume_at = kNever;
  listeners_.release(id.slot);
}

void ListenerSet::stop_all() {
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    if (uint32_t generation = listeners_[slot].generation; generation != 0) stop({slot, generation});
  }
}

void ListenerSet::accept_ready(uint32_t slot, uint16_t generation) {
  const uint32_t whole = listeners_[slot].generation;
  if (static_cast<uint16_t>(whole) != generation) return;
  const int most = listeners_[slot].shared ? 1 : listeners_[slot].accepts;
  for (int i = 0; i < most; ++i) {
    Listener* listener = listeners_.find(slot, whole);
    if (listener == nullptr || !listener->armed) return;
    if (i + 1 == most) listener->accepts = std::min(most * 2, kAcceptsPerTurn);
    Fd fd(::accept4(listener->fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool beyond = fd && !poller_->can_hold(fd.get());
    if (beyond) {
      // The poller cannot watch this fd. Closing it ends the client's connection, so that the client does not wait in
      // vain. The listener then sheds clients and pauses, as if fds had run out.
      fd.reset();
      errno = EMFILE;
    }
    if (fd) {
      ++stats_.accepts;
      starved_for_ = {};
      listener->shut_down = false;
      listener->events->on_accepted(LooseStream(std::move(fd)));
      continue;
    }
    const int error = errno;
    // If another holder of a unix socket has shut it down, the socket is always ready and accept(2) fails with EAGAIN.
    if (error == EAGAIN && (i > 0 || !is_shut_down(listener->fd.get()))) {
      listener->accepts = 1;
      return;
    }
    ++stats_.accepts_failed;
    if (beyond) ++stats_.accepts_shed;
    if (error == EAGAIN || error == EINVAL) return pause_shut_down(*listener);
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      return pause_starved(*listener, error);
    }
    // The errors in this assertion would be bugs of peal. Any other error concerns a single connection, which is lost
    // (accept(2), "Error handling").
    PEAL_ASSERT(error != EBADF && error != ENOTSOCK && error != EFAULT && error != EOPNOTSUPP,
                "accept on fd {} failed with errno {}", listener->fd.get(), error);
  }
}

// Pauses a listener whose socket another process has shut down by shutdown(2). A unix socket stays shut down for good;
// a TCP socket can be revived by listen(2).
void ListenerSet::pause_shut_down(Listener& listener) {
  if (!std::exchange(listener.shut_down, true)) {
    PEAL_LOG_ERROR("another holder of listening socket fd {} has shut it down; accepting is tried again once a second",
                   listener.fd.get());
  }
  pause(listener, monotonic_now() + kShutDownPause);
}

// Handles an accept that failed for lack of fds or memory: sheds clients, doubles the pause, logs and pauses.
void ListenerSet::pause_starved(Listener& listener, int error) {
  const TimePoint now = monotonic_now();
  const uint64_t shed_now = shed(listener.fd.get());
  stats_.accepts_shed += shed_now;
  ++stats_.accept_pauses;
  starved_for_ = std::clamp(starved_for_ * 2, kFirstPause, kLongestPause);
  if (auto suppressed = limiter_.admit(now)) {
    PEAL_LOG_WARN("accepting paused for {} ms: {} (closed {} waiting clients; {} such lines suppressed)",
                  std::chrono::duration_cast<std::chrono::milliseconds>(starved_for_).count(),
                  errno_code(error).message(), shed_now, *suppressed);
  }
  pause(listener, later(now, starved_for_));
}

// Accepts at most kShedAtOnce waiting clients with the spare fd, and closes their connections. Returns how many clients
// there were.
uint64_t ListenerSet::shed(int fd) {
  uint64_t count = 0;
  for (int i = 0; i < kShedAtOnce; ++i) {
    if (!spare_) spare_ = open_spare();
    if (!spare_) break;
    spare_.reset();
    Fd unlucky(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const int error = unlucky ? 0 : errno;
    if (error == 0) ++count;
    unlucky.reset();
    spare_ = open_spare();
    if (error != 0 && error != ECONNABORTED && error != EINTR) break;
  }
  return count;
}

size_t ListenerSet::deliver_last_completions(bool deliver_late) {
  size_t count = 0;
  std::vector<LastCompletion> leaving = std::exchange(last_completions_, {});
  for (LastCompletion& last : leaving) {
    if (deliver_late) count += accept_late(last.fd.get(), *last.events);
    close_listening_socket(std::move(last.fd), last.file);
    last.events->on_accept_stopped();
    ++count;
  }
  return count;
}

}  // namespace peal::detail
