// SPDX-License-Identifier: BSD-3-Clause
// ListenerSet: the listening sockets of a ReadinessEngine: how much they accept in a turn, and what happens when
// accepting fails.
#pragma once

#include <vector>

#include <peal/engine/parts/listener_table.h>
#include <peal/engine/parts/poller.h>

namespace peal::detail {

class ListenerSet final : public ListenerTable {
 public:
  explicit ListenerSet(EngineStats& stats) : ListenerTable(stats) {}

  // From here on listeners can be polled; `key` makes what the poller reports them by.
  using MakeKey = uint64_t (*)(uint32_t slot, uint32_t generation);
  void open(Poller& poller, MakeKey key);
  void accept(ListenerId id, AcceptEvents& events);
  void stop(ListenerId id);
  void stop_all();

  // The poller says that connections wait: accepts a bounded number of them. `generation` is the id's low half.
  void ready(uint32_t slot, uint16_t generation);
  // Ends the pauses that are over by `now`.
  void resume(TimePoint now);
  // Delivers what the stopped ones still hold (only if `deliver_late`), then their last completions; returns how many.
  size_t say_farewells(bool deliver_late);
  bool has_farewells() const { return !farewells_.empty(); }

 private:
  struct Farewell {
    Fd fd;
    AcceptEvents* events;
    bool adopted;
  };

  int poll(uint32_t slot, Listener& listener);

  static constexpr int kAcceptsPerTurn = 64;

  Poller* poller_ = nullptr;
  MakeKey key_ = nullptr;
  std::vector<Farewell> farewells_;
};

}  // namespace peal::detail
