// SPDX-License-Identifier: BSD-3-Clause
// FlightRecorder: what lately happened to the connections of a loop: one preallocated ring, the oldest event is
// overwritten. An event costs four stores and no memory in the connection; finding one connection's events costs a
// look at the whole ring, which is for when something went wrong. The loop owns it; its thread alone touches it.
//   if (FlightRecorder* recorder = loop.flight_recorder())
//     recorder->record([&] { return loop.now(); }, id, FlightKind::kSent, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>
#include <peal/base/cycle_clock.h>

namespace peal {

enum class FlightKind : uint8_t {
  kConnecting,
  kOpened,
  kReceived,  // bytes: in this call up
  kSent,      // bytes: given to send()
  kPaused,
  kResumed,
  kAboveHighWater,  // bytes: queued
  kBelowHighWater,  // bytes: queued
  kPeerEnded,
  kEndedOutput,
  kSendFailed,  // bytes: the errno
  kDeadline,    // one of its deadlines passed
  kBudget,      // bytes: those that made it too much
  kThrew,       // a callback of the user's
  kStartsLayer,
  kClosing,  // bytes: the reason, as the owner numbers it; it has the words for dump()
  kClosed,
};
std::string_view to_string(FlightKind kind);

// Names one use of a connection's slot: the owner, the slot, its generation. Never dereferenced.
struct FlightId {
  const void* owner = nullptr;
  uint32_t generation = 0;  // these two as SlotLinks has them, so that one move copies both
  uint32_t slot = 0;

  bool operator==(const FlightId&) const = default;
};

struct FlightEvent {
  TimePoint at;
  FlightId id;
  FlightKind kind = FlightKind::kConnecting;
  uint64_t bytes = 0;
};

class FlightRecorder {
 public:
  enum class TimeBy : uint8_t {
    kAsking,  // record()'s caller
    kCycles,  // the processor, where it has such a clock (cycle_clock.h)
  };
  // Room for at least `events` (> 0, at most 2^24), rounded up to a power of two; 32 bytes each.
  explicit FlightRecorder(size_t events, TimeBy time = TimeBy::kAsking);

  // `now` is called only where there is no cheaper clock.
  template <class Now>
  void record(Now&& now, FlightId id, FlightKind kind, uint64_t bytes = 0) {
    if (!record_by_cycles(id, kind, bytes)) keep(in_ticks(now()), id, kind, bytes);
  }
  // False, and nothing is recorded, where record() has to ask for the time.
  bool record_by_cycles(FlightId id, FlightKind kind, uint64_t bytes = 0) {
    if (!by_cycles_) return false;
    keep(CycleClock::stamp(), id, kind, bytes);
    return true;
  }

  // The last events of one connection, or of all, at most `most`, oldest first: those that the ring still has.
  std::vector<FlightEvent> last(std::optional<FlightId> id, size_t most = 64) const;
  // As last(), a line each: the time before the newest of them in ms, the kind, the bytes unless 0; of all, the
  // connection's slot and generation too. `reason` has the words for what kClosing holds in their place.
  std::string dump(std::optional<FlightId> id, size_t most = 64, std::string_view (*reason)(uint64_t) = nullptr) const;

  size_t capacity() const { return mask_ + 1; }
  uint64_t recorded() const { return count_; }

 private:
  struct Kept {
    uint64_t stamp = 0;
    FlightId id;
    uint64_t bytes_and_kind = 0;  // one store
  };
  static_assert(sizeof(Kept) == 32, "a ring's index is a shift");
  void keep(uint64_t stamp, FlightId id, FlightKind kind, uint64_t bytes) {
    Kept& event = ring_[count_++ & mask_];
    event.stamp = stamp;
    event.id = id;
    event.bytes_and_kind = bytes << 8 | static_cast<uint8_t>(kind);
  }
  static uint64_t in_ticks(TimePoint at) { return static_cast<uint64_t>(at.time_since_epoch().count()); }

  size_t mask_;
  uint64_t count_ = 0;
  std::unique_ptr<Kept[]> ring_;
  bool by_cycles_;
  CycleClock::Moment made_ = CycleClock::now();
};

}  // namespace peal
