// SPDX-License-Identifier: BSD-3-Clause
// UringListeners: the listening sockets of a UringEngine: who accepts, what happens when accepting fails, and how it
// ends. On the engine's thread, but for bind(), local_address() and stop() before the engine opens.
#pragma once

#include <memory>
#include <vector>

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>
#include <peal/engine/parts/accept_guard.h>
#include <peal/engine/parts/uring_ring.h>

namespace peal::detail {

class UringListeners {
 public:
  explicit UringListeners(EngineStats& stats) : stats_(stats) {}

  // From here on they can accept; a request's tag is `tag` plus the slot.
  void open(UringRing& ring, uint64_t tag);
  Result<ListenerId> bind(const SocketAddress& address, const ListenOptions& options);
  Result<SocketAddress> local_address(ListenerId id) const;
  void accept(ListenerId id, AcceptEvents& events);
  void stop(ListenerId id);
  // Stops all; from here on nothing that comes late is delivered.
  void stop_all();

  // A completion of the listener's accept.
  void completed(uint32_t slot, const UringRing::Completion& completion);
  // Ends the pauses that are over by `now`.
  void resume(TimePoint now);
  // When resume() has something to do next; kNever when nothing is paused.
  TimePoint next_resume() const { return next_resume_; }
  // Delivers the last completions of those that were stopped while nothing was armed; returns how many.
  size_t say_farewells();
  bool empty() const { return listeners_.size() == 0; }

 private:
  struct Listener {
    uint32_t generation = 0;
    uint32_t next_free = 0;
    Fd fd;
    AcceptEvents* events = nullptr;
    TimePoint resume_at = kNever;  // paused until then
    bool armed = false;
    bool stopping = false;
  };

  Listener* find(ListenerId id);
  void arm(uint32_t slot, Listener& listener);
  void failed(Listener& listener, int error);
  void finish(uint32_t slot, Listener& listener);

  static constexpr size_t kMostLate = 4096;

  EngineStats& stats_;
  UringRing* ring_ = nullptr;
  uint64_t tag_ = 0;
  bool deliver_late_ = true;
  SlotTable<Listener> listeners_;
  std::vector<uint32_t> leaving_;
  std::unique_ptr<AcceptGuard> guard_;
  TimePoint next_resume_ = kNever;
};

}  // namespace peal::detail
