// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/listener_set.h>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include <peal/base/log.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

void ListenerSet::open(Poller& poller, MakeKey key) {
  poller_ = &poller;
  key_ = key;
  guard_ = std::make_unique<AcceptGuard>();
}

Result<ListenerId> ListenerSet::bind(const SocketAddress& address, const ListenOptions& options) {
  Result<Fd> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  uint32_t slot = listeners_.acquire();
  Listener& listener = listeners_[slot];
  listener.fd = std::move(*fd);
  listener.events = nullptr;
  listener.resume_at = kNever;
  return ListenerId{slot, listener.generation};
}

Result<SocketAddress> ListenerSet::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) return fail(EBADF);
  return detail::local_address(listener->fd.get());
}

void ListenerSet::accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) {
    ++stats_.stale_calls;
    return;
  }
  PEAL_ASSERT(listener->events == nullptr, "listener {} accepts already", id.slot);
  listener->events = &events;
  Result<void> added = poller_->add(listener->fd.get(), key_(id.slot, id.generation), kReadable, false);
  if (added) return;
  // The kernel is short of memory for one more registration: try again as if an accept had failed.
  PEAL_LOG_ERROR("cannot poll a listening socket: {}", added.error().message());
  listener->resume_at = monotonic_now() + guard_->pause();
  next_resume_ = std::min(next_resume_, listener->resume_at);
}

void ListenerSet::stop(ListenerId id) {
  Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr) {
    ++stats_.stale_calls;
    return;
  }
  if (listener->events != nullptr) {
    if (listener->resume_at == kNever) poller_->remove(listener->fd.get());
    farewells_.push_back({std::move(listener->fd), listener->events});
  } else {
    close_listener(std::move(listener->fd));
  }
  listener->resume_at = kNever;
  listeners_.release(id.slot);
}

void ListenerSet::stop_all() {
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    if (uint32_t generation = listeners_[slot].generation; generation != 0) stop({slot, generation});
  }
}

void ListenerSet::ready(uint32_t slot, uint16_t generation) {
  const uint32_t whole = listeners_[slot].generation;
  if (static_cast<uint16_t>(whole) != generation) return;
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    Listener* listener = listeners_.find(slot, whole);
    if (listener == nullptr || listener->resume_at != kNever) return;
    Fd fd(::accept4(listener->fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      ++stats_.accepts;
      guard_->succeeded();
      listener->events->on_accepted(LooseStream(std::move(fd)));
      continue;
    }
    int error = errno;
    TimePoint now = error == EAGAIN ? TimePoint{} : monotonic_now();
    switch (guard_->failed(error, listener->fd.get(), now, stats_)) {
      case AcceptGuard::Verdict::kAgain: continue;
      case AcceptGuard::Verdict::kEmpty: return;
      case AcceptGuard::Verdict::kPause: return pause(slot, *listener, now);
    }
  }
}

// A paused listener leaves the poller altogether: while it is starved even its readiness must cost nothing.
void ListenerSet::pause(uint32_t slot, Listener& listener, TimePoint now) {
  PEAL_ASSERT(listener.resume_at == kNever, "listener {} is paused already", slot);
  poller_->remove(listener.fd.get());
  listener.resume_at = now + guard_->pause();
  next_resume_ = std::min(next_resume_, listener.resume_at);
}

void ListenerSet::resume(TimePoint now) {
  if (next_resume_ == kNever || now < next_resume_) return;
  next_resume_ = kNever;
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    Listener& listener = listeners_[slot];
    if (listener.generation == 0 || listener.resume_at == kNever) continue;
    if (listener.resume_at <= now) {
      Result<void> added = poller_->add(listener.fd.get(), key_(slot, listener.generation), kReadable, false);
      listener.resume_at = added ? kNever : now + guard_->pause();
    }
    next_resume_ = std::min(next_resume_, listener.resume_at);
  }
}

// Clients whose handshake the kernel had finished before the stop would otherwise be reset.
size_t ListenerSet::accept_late(int fd, AcceptEvents& events) {
  size_t count = 0;
  while (count < kMostLate) {
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

size_t ListenerSet::say_farewells(bool deliver_late) {
  size_t count = 0;
  std::vector<Farewell> leaving = std::exchange(farewells_, {});
  for (Farewell& farewell : leaving) {
    if (deliver_late) count += accept_late(farewell.fd.get(), *farewell.events);
    close_listener(std::move(farewell.fd));
    farewell.events->on_accept_stopped();
    ++count;
  }
  return count;
}

}  // namespace peal::detail
