// SPDX-License-Identifier: BSD-3-Clause
// ListenerTable: what the listening sockets of every kernel engine have in common: who they are, the pauses of those
// that could not accept, and the clients that come late. How one waits for clients is the engine's own (ListenerSet,
// UringListeners). On the engine's thread, but for bind() and local_address() before the engine opens.
#pragma once

#include <algorithm>
#include <memory>

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/parts/accept_guard.h>

namespace peal::detail {

class ListenerTable {
 public:
  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options);
  Result<ListenerId> adopt(Fd listening, const AdoptOptions& options);
  Result<SocketAddress> local_address(ListenerId id) const;
  // When resume() has something to do next; kNever when nothing is paused.
  TimePoint next_resume() const { return next_resume_; }

 protected:
  struct Listener {
    uint32_t generation = 0;
    uint32_t slot = 0;
    Fd fd;
    AcceptEvents* events = nullptr;  // from accept() on
    TimePoint resume_at = kNever;    // paused until then
    bool armed = false;              // in the kernel's hands
    bool stopping = false;           // the id is dead, the slot not yet free
    bool adopted = false;            // its socket file is somebody else's
    bool shared = false;             // as AdoptOptions has it
  };

  explicit ListenerTable(EngineStats& stats) : stats_(stats) {}
  ~ListenerTable() = default;

  // Null, and counted, when the id is dead.
  Listener* find(ListenerId id);
  // Marks it as accepting. Null when the id is dead.
  Listener* begin_accept(ListenerId id, AcceptEvents& events);
  void pause(Listener& listener, TimePoint now);
  // Calls `again(slot, listener)` for those whose pause is over by `now`; it may pause them anew.
  template <class Again>
  void end_pauses(TimePoint now, Again again);
  // Accepts what the kernel had finished before the stop, which would otherwise be reset; returns how many.
  size_t accept_late(int fd, AcceptEvents& events);
  static void close(Fd fd, bool adopted);

  EngineStats& stats_;
  SlotTable<Listener> listeners_;
  std::unique_ptr<AcceptGuard> guard_;  // from the engine's opening on

 private:
  ListenerId enter(Fd fd, bool adopted, bool shared);

  static constexpr size_t kMostLate = 4096;

  TimePoint next_resume_ = kNever;
};

template <class Again>
void ListenerTable::end_pauses(TimePoint now, Again again) {
  if (next_resume_ == kNever || now < next_resume_) return;
  next_resume_ = kNever;
  for (uint32_t slot = 0; slot < listeners_.capacity(); ++slot) {
    Listener& listener = listeners_[slot];
    if (listener.generation == 0 || listener.resume_at == kNever) continue;
    if (listener.resume_at <= now) {
      listener.resume_at = kNever;
      again(slot, listener);
    }
    next_resume_ = std::min(next_resume_, listener.resume_at);
  }
}

}  // namespace peal::detail
