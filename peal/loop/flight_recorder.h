// SPDX-License-Identifier: BSD-3-Clause
// FlightRecorder: what lately happened to the connections of a loop: one preallocated ring, the oldest event is
// overwritten. An event costs four stores and no memory in the connection; finding one connection's events costs a
// look at the whole ring, which is for when something went wrong. The loop owns it; its thread alone touches it.
//   if (FlightRecorder* recorder = loop.flight_recorder()) recorder->record(loop.now(), id, FlightKind::kSent, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/clock.h>

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
  kClosing,     // bytes: the reason, as the owner numbers it
  kClosed,
};
std::string_view to_string(FlightKind kind);

// Names one life of one connection of one loop: who keeps it, where, and for the how manyeth time. Never followed.
struct FlightId {
  const void* owner = nullptr;
  uint32_t slot = 0;
  uint32_t generation = 0;

  bool operator==(const FlightId&) const = default;
};

struct FlightEvent {
  TimePoint at;  // the time of the turn
  FlightId id;
  uint64_t bytes_and_kind = 0;  // one store

  FlightKind kind() const { return static_cast<FlightKind>(bytes_and_kind & 0xff); }
  uint64_t bytes() const { return bytes_and_kind >> 8; }
};
static_assert(sizeof(FlightEvent) == 32, "a ring's index is a shift");

class FlightRecorder {
 public:
  // Room for at least `events` (> 0, at most 2^24), rounded up to a power of two; 32 bytes each.
  explicit FlightRecorder(size_t events);

  void record(TimePoint at, FlightId id, FlightKind kind, uint64_t bytes = 0) {
    FlightEvent& event = ring_[count_++ & mask_];
    event.at = at;
    event.id = id;
    event.bytes_and_kind = bytes << 8 | static_cast<uint8_t>(kind);
  }

  // The last events of one connection, or of all, at most `most`, oldest first: those that the ring still has.
  std::vector<FlightEvent> last(std::optional<FlightId> id, size_t most = 64) const;
  // As last(), a line each: the time before the newest of them in ms, the kind, the bytes unless 0; of all, the
  // connection's slot and generation too.
  std::string dump(std::optional<FlightId> id, size_t most = 64) const;

  size_t capacity() const { return mask_ + 1; }
  uint64_t recorded() const { return count_; }

 private:
  size_t mask_;
  uint64_t count_ = 0;
  std::unique_ptr<FlightEvent[]> ring_;
};

}  // namespace peal
