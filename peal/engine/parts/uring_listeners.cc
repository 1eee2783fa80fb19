// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/parts/uring_listeners.h>

#include <utility>

#include <peal/base/assert.h>
#include <peal/engine/parts/socket_calls.h>

namespace peal::detail {

void UringListeners::open(UringRing& ring, uint64_t tag) {
  ring_ = &ring;
  tag_ = tag;
  guard_ = std::make_unique<AcceptGuard>();
}

void UringListeners::arm(uint32_t slot, Listener& listener) {
  // The kernel wakes the first in a socket's queue. Armed for ever, that would be the same process each time.
  ring_->accept(listener.fd.get(), !listener.shared, tag_ + slot);
  listener.armed = true;
}

void UringListeners::accept(ListenerId id, AcceptEvents& events) {
  if (Listener* listener = begin_accept(id, events); listener != nullptr) arm(id.slot, *listener);
}

void UringListeners::stop(ListenerId id) {
  Listener* listener = find(id);
  if (listener == nullptr) return;
  if (listener->events == nullptr) {
    close(std::move(listener->fd), listener->adopted);
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
    TimePoint now = monotonic_now();
    auto verdict = guard_->failed(-completion.result, listener.fd.get(), now, stats_);
    if (verdict == AcceptGuard::Verdict::kPause) pause(listener, now);
  }
  if (listener.armed) return;
  if (was_stopping) {
    finish(slot, listener);
  } else if (!listener.stopping && listener.resume_at == kNever) {
    arm(slot, listener);
  }
}

void UringListeners::resume(TimePoint now) {
  end_pauses(now, [this](uint32_t slot, Listener& listener) { arm(slot, listener); });
}

void UringListeners::finish(uint32_t slot, Listener& listener) {
  AcceptEvents& events = *listener.events;
  Fd fd = std::move(listener.fd);
  const bool adopted = listener.adopted;
  listener.events = nullptr;
  listeners_.release(slot);
  if (deliver_late_) accept_late(fd.get(), events);
  close(std::move(fd), adopted);
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
