// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/uring_listeners.h>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

void UringListeners::open(UringRing& ring, uint64_t tag) {
  ring_ = &ring;
  tag_ = tag;
  guard_ = std::make_unique<AcceptGuard>();
}

Result<ListenerId> UringListeners::bind(const SocketAddress& address, const ListenOptions& options) {
  Result<Fd> fd = open_listener(address, options);
  if (!fd) return std::unexpected(fd.error());
  uint32_t slot = listeners_.acquire();
  Listener& listener = listeners_[slot];
  listener.fd = std::move(*fd);
  listener.events = nullptr;
  listener.resume_at = kNever;
  listener.armed = listener.stopping = false;
  return ListenerId{slot, listener.generation};
}

Result<SocketAddress> UringListeners::local_address(ListenerId id) const {
  const Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener == nullptr || listener->stopping) return fail(EBADF);
  return detail::local_address(listener->fd.get());
}

UringListeners::Listener* UringListeners::find(ListenerId id) {
  Listener* listener = listeners_.find(id.slot, id.generation);
  if (listener != nullptr && !listener->stopping) return listener;
  ++stats_.stale_calls;
  return nullptr;
}

void UringListeners::arm(uint32_t slot, Listener& listener) {
  ring_->accept(listener.fd.get(), tag_ + slot);
  listener.armed = true;
}

void UringListeners::accept(ListenerId id, AcceptEvents& events) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  PEAL_ASSERT(listener->events == nullptr, "listener {} accepts already", id.slot);
  PEAL_ASSERT(ring_ != nullptr, "listener {} accepts while the engine is not open", id.slot);
  listener->events = &events;
  arm(id.slot, *listener);
}

void UringListeners::stop(ListenerId id) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  if (listener->events == nullptr) {
    close_listener(std::move(listener->fd));
    listeners_.release(id.slot);
    return;
  }
  listener->stopping = true;
  listener->resume_at = kNever;
  if (listener->armed) {
    ring_->cancel(tag_ + id.slot);
  } else {
    leaving_.push_back(id.slot);
  }
}

void UringListeners::stop_all() {
  deliver_late_ = false;
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    const Listener& listener = listeners_[slot];
    if (listener.generation != 0 && !listener.stopping) stop({slot, listener.generation});
  }
}

void UringListeners::completed(uint32_t slot, const UringRing::Completion& completion) {
  Listener& listener = listeners_[slot];
  PEAL_ASSERT(listener.generation != 0 && listener.armed, "listener {} completed without being armed", slot);
  const bool was_stopping = listener.stopping;
  listener.armed = completion.more();
  if (completion.result >= 0) {
    Fd fd(completion.result);
    ++stats_.accepts;
    if (was_stopping) ++stats_.accepted_late;
    guard_->succeeded();
    if (!was_stopping || deliver_late_) listener.events->on_accepted(LooseStream(std::move(fd)));
  } else if (!was_stopping) {
    failed(listener, -completion.result);
  }
  if (listener.armed) return;
  if (was_stopping) {
    finish(slot, listener);
  } else if (!listener.stopping && listener.resume_at == kNever) {
    arm(slot, listener);
  }
}

void UringListeners::failed(Listener& listener, int error) {
  TimePoint now = monotonic_now();
  if (guard_->failed(error, listener.fd.get(), now, stats_) != AcceptGuard::Verdict::kPause) return;
  listener.resume_at = now + guard_->pause();
  next_resume_ = std::min(next_resume_, listener.resume_at);
}

void UringListeners::resume(TimePoint now) {
  if (now < next_resume_) return;
  next_resume_ = kNever;
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    Listener& listener = listeners_[slot];
    if (listener.generation == 0 || listener.resume_at == kNever) continue;
    if (listener.resume_at <= now) {
      listener.resume_at = kNever;
      arm(slot, listener);
    } else {
      next_resume_ = std::min(next_resume_, listener.resume_at);
    }
  }
}

// Clients whose handshake the kernel had finished before the stop would otherwise be reset.
void UringListeners::finish(uint32_t slot, Listener& listener) {
  AcceptEvents& events = *listener.events;
  Fd fd = std::move(listener.fd);
  listener.events = nullptr;
  listeners_.release(slot);
  for (size_t i = 0; i < kMostLate && deliver_late_; ++i) {
    Fd late(::accept4(fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!late && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (!late) break;
    ++stats_.accepts;
    ++stats_.accepted_late;
    events.on_accepted(LooseStream(std::move(late)));
  }
  close_listener(std::move(fd));
  events.on_accept_stopped();
}

size_t UringListeners::say_farewells() {
  if (leaving_.empty()) [[likely]]
    return 0;
  std::vector<uint32_t> leaving = std::exchange(leaving_, {});
  for (uint32_t slot : leaving) finish(slot, listeners_[slot]);
  return leaving.size();
}

}  // namespace peal::detail
