// SPDX-License-Identifier: BSD-3-Clause
// UringListeners: the listening sockets of a UringEngine: what happens when accepting fails, and how it ends. On the
// engine's thread, but for bind(), local_address() and stop() before the engine opens.
#pragma once

#include <vector>

#include <peal/engine/parts/listener_table.h>
#include <peal/engine/parts/uring_ring.h>

namespace peal::detail {

class UringListeners final : public ListenerTable {
 public:
  explicit UringListeners(EngineStats& stats) : ListenerTable(stats) {}

  // From here on they can accept; a request's tag is `tag` plus the slot.
  void open(UringRing& ring, uint64_t tag);
  void accept(ListenerId id, AcceptEvents& events);
  void stop(ListenerId id);
  // Stops all; from here on nothing that comes late is delivered.
  void stop_all();

  // A completion of the listener's accept.
  void completed(uint32_t slot, const UringRing::Completion& completion);
  // Ends the pauses that are over by `now`.
  void resume(TimePoint now);
  // Delivers the last completions of those that were stopped while nothing was armed; returns how many.
  size_t say_farewells();
  bool empty() const { return listeners_.size() == 0; }

 private:
  void arm(uint32_t slot, Listener& listener);
  void finish(uint32_t slot, Listener& listener);

  UringRing* ring_ = nullptr;
  uint64_t tag_ = 0;
  bool deliver_late_ = true;
  std::vector<uint32_t> leaving_;
};

}  // namespace peal::detail
