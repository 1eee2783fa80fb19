// SPDX-License-Identifier: BSD-3-Clause
// FlightRecorder remembers the latest events of a loop's connections, to find out what happened before something went
// wrong. The events are in one ring of fixed size, and a new event overwrites the oldest one.
//
// To record an event costs four stores, and no memory in the connection. To find the events of one connection, the
// whole ring is searched. The loop owns the recorder, and only the loop's thread may use it.
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

// The kind of an event. The comments say what FlightEvent::bytes has for that kind; for all other kinds it is 0.
enum class FlightKind : uint8_t {
  kConnecting,  // the library does not record this kind at present
  kOpened,
  kReceived,  // the bytes that this call of the receive callback got
  kSent,      // the bytes that were passed to send()
  kPaused,
  kResumed,
  kAboveHighWater,  // the bytes that are queued for sending
  kBelowHighWater,  // the bytes that are queued for sending
  kPeerEnded,       // the peer has sent its last byte
  kEndedOutput,     // this side has ended its output
  kSendFailed,      // the errno
  kDeadline,        // a deadline of the connection has passed
  kBudget,          // the bytes that exceeded a budget; the library does not record this kind at present
  kThrew,           // a callback of the application threw an exception
  kStartsLayer,     // a layer such as TLS starts on the open connection
  kClosing,         // the number of the close reason; the connection's owner has the text for dump()
  kClosed,
};

// Returns the name of the kind, such as "peer ended", or "?" for an unknown number.
std::string_view to_string(FlightKind kind);

// Identifies one connection by its owner, by its slot in the owner's table and by the slot's generation (slot_table.h).
// The pointer is only compared and never dereferenced.
struct FlightId {
  const void* owner = nullptr;
  // These two members have the same order as in SlotLinks (slot_table.h), so that the compiler copies both with one
  // instruction.
  uint32_t generation = 0;
  uint32_t slot = 0;

  bool operator==(const FlightId&) const = default;
};

// One recorded event.
struct FlightEvent {
  TimePoint at;
  FlightId id;
  FlightKind kind = FlightKind::kConnecting;
  uint64_t bytes = 0;
};

class FlightRecorder {
 public:
  // Says where the recorder gets the time of an event from.
  enum class TimeBy : uint8_t {
    kAsking,  // record() calls the function `now` that its caller passes
    kCycles,  // the processor's cycle counter (cycle_clock.h) if it is usable, otherwise as kAsking
  };

  // Makes a recorder of `events` events, rounded up to a power of two. Each takes 32 bytes. Asserts that `events` is
  // between 1 and 2^24.
  explicit FlightRecorder(size_t events, TimeBy time = TimeBy::kAsking);

  // Records an event. `now` is a function that returns the time. It is called only if the recorder does not use the
  // cycle counter.
  template <class Now>
  void record(Now&& now, FlightId id, FlightKind kind, uint64_t bytes = 0) {
    if (!record_by_cycles(id, kind, bytes)) keep(in_ticks(now()), id, kind, bytes);
  }

  // Records an event with the time of the cycle counter. If the recorder does not use the cycle counter, returns false
  // and records no event: the caller then has to use record().
  bool record_by_cycles(FlightId id, FlightKind kind, uint64_t bytes = 0) {
    if (!by_cycles_) return false;
    keep(CycleClock::stamp(), id, kind, bytes);
    return true;
  }

  // Returns the latest events that are still in the ring, at most `most`, oldest first. If `id` is given, only the
  // events of that connection are returned.
  std::vector<FlightEvent> last(std::optional<FlightId> id, size_t most = 64) const;

  // Returns the events of last() as text, with one line for each event. A line has the time relative to the newest
  // event in ms, the kind, and the bytes if they are not 0. If no `id` is given, a line also has the connection's slot
  // and generation. `reason` converts the number of a kClosing event to text; if `reason` is null, the number is
  // printed.
  std::string dump(std::optional<FlightId> id, size_t most = 64, std::string_view (*reason)(uint64_t) = nullptr) const;

  // Returns how many events the ring holds.
  size_t capacity() const { return mask_ + 1; }

  // Returns how many events have been recorded, overwritten ones included.
  uint64_t recorded() const { return count_; }

 private:
  // An event in the form in which the ring stores it.
  struct Kept {
    uint64_t stamp = 0;
    FlightId id;
    uint64_t bytes_and_kind = 0;  // the bytes in the upper 56 bits, the kind in the lower 8
  };
  static_assert(sizeof(Kept) == 32, "a ring's index is a shift");

  // Writes an event over the oldest one. `stamp` is a value of the cycle counter, or a time in nanoseconds if the
  // recorder does not use the counter.
  void keep(uint64_t stamp, FlightId id, FlightKind kind, uint64_t bytes) {
    Kept& event = ring_[count_++ & mask_];
    event.stamp = stamp;
    event.id = id;
    event.bytes_and_kind = bytes << 8 | static_cast<uint8_t>(kind);
  }

  // Converts a time to a stamp in nanoseconds.
  static uint64_t in_ticks(TimePoint at) { return static_cast<uint64_t>(at.time_since_epoch().count()); }

  size_t mask_;  // capacity - 1
  uint64_t count_ = 0;
  std::unique_ptr<Kept[]> ring_;
  bool by_cycles_;

  // The moment at which the recorder was made. It is needed to convert values of the cycle counter to times.
  CycleClock::Moment made_ = CycleClock::now();
};

}  // namespace peal
