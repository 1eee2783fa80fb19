// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/listener_set.h>

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <peal/base/log.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

void ListenerSet::open(Poller& poller, MakeKey key) {
  poller_ = &poller;
  key_ = key;
  guard_ = std::make_unique<AcceptGuard>();
}

void ListenerSet::accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = begin_accept(id, events);
  if (listener == nullptr) return;
  const int error = poll(id.slot, *listener);
  if (error != 0) PEAL_LOG_ERROR("a listening socket cannot be polled: {}; trying on", errno_code(error).message());
}

// Where that fails, with an errno, it is tried again later, as if an accept had failed.
int ListenerSet::poll(uint32_t slot, Listener& listener) {
  Result<void> added = poller_->add(listener.fd.get(), key_(slot, listener.generation), kReadable, false);
  listener.armed = added.has_value();
  if (!added) pause(listener, monotonic_now());
  return added ? 0 : added.error().value();
}

void ListenerSet::resume(TimePoint now) {
  end_pauses(now, [this](uint32_t slot, Listener& listener) { poll(slot, listener); });
}

void ListenerSet::stop(ListenerId id) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  if (listener->events != nullptr) {
    if (listener->armed) poller_->remove(listener->fd.get());
    farewells_.push_back({std::move(listener->fd), listener->events, listener->adopted});
  } else {
    close(std::move(listener->fd), listener->adopted);
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
  const int most = listeners_[slot].shared ? 1 : kAcceptsPerTurn;
  for (int i = 0; i < most; ++i) {
    Listener* listener = listeners_.find(slot, whole);
    if (listener == nullptr || !listener->armed) return;
    Fd fd(::accept4(listener->fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    const bool beyond = fd && !poller_->can_hold(fd.get());
    if (beyond) {
      // As good as none: the client learns its fate, and the others are dealt with as when there are no fds.
      fd.reset();
      errno = EMFILE;
    }
    if (fd) {
      ++stats_.accepts;
      guard_->succeeded();
      listener->events->on_accepted(LooseStream(std::move(fd)));
      continue;
    }
    int error = errno;
    if (beyond) ++stats_.accepts_shed;
    TimePoint now = error == EAGAIN ? TimePoint{} : monotonic_now();
    switch (guard_->failed(error, listener->fd.get(), now, stats_)) {
      case AcceptGuard::Verdict::kAgain: continue;
      case AcceptGuard::Verdict::kEmpty: return;
      case AcceptGuard::Verdict::kPause:
        // It leaves the poller altogether: while it is starved even its readiness must cost nothing.
        poller_->remove(listener->fd.get());
        listener->armed = false;
        return pause(*listener, now);
    }
  }
}

size_t ListenerSet::say_farewells(bool deliver_late) {
  size_t count = 0;
  std::vector<Farewell> leaving = std::exchange(farewells_, {});
  for (Farewell& farewell : leaving) {
    if (deliver_late) count += accept_late(farewell.fd.get(), *farewell.events);
    close(std::move(farewell.fd), farewell.adopted);
    farewell.events->on_accept_stopped();
    ++count;
  }
  return count;
}

}  // namespace peal::detail
