// SPDX-License-Identifier: BSD-3-Clause
// A hierarchical timing wheel: add, cancel and re-arm are O(1) with any number of timers pending.
//
// Six levels of 256 slots; a slot of level 0 is one tick of 1 ms, a slot of level n is 256^n ticks, so every TimePoint
// has a place. A timer lies at the level of the highest byte in which its tick differs from the wheel's. When the wheel
// enters a slot of a higher level it deals the slot's timers out to the levels below (a cascade): a timer is moved at
// most once a level, one due within a minute once or twice. Bitmaps skip the empty slots, so a clock that jumps by
// years costs no more than the timers it passes.
//
//   level 1  [ ][x][ ][ ]...   a slot is 256 ms ----+
//   level 0  [ ][ ][x][ ]...   a slot is 1 ms   <---+ dealt out when the wheel enters it
//
// A pure data structure: it knows no clock and no loop, time comes in through advance(). One thread. The owner is the
// Loop. Timers live in chunks that double in size and never move, 72 bytes each, the callback included (a closure of
// more than three words is allocated by std::move_only_function). Memory follows the most timers ever pending at
// once; before the first add it is the 12 KiB of the slots inside the wheel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <peal/base/callback.h>
#include <peal/base/clock.h>

namespace peal {

// Names one timer of one wheel. Late use (fired, cancelled, its slot taken by another timer) does nothing; a default
// TimerId names none.
struct TimerId {
  uint32_t slot = 0;
  uint32_t generation = 0;

  bool operator==(const TimerId&) const = default;
  explicit operator bool() const { return generation != 0; }
};

// Callbacks and the destructors of their closures may add, cancel and re-arm any timer, their own included; they may
// not advance nor destroy the wheel. Callbacks may throw.
class TimerWheel {
 public:
  using Callback = peal::Callback<void()>;

  // `start` is the time until the first advance(); not before the epoch.
  explicit TimerWheel(TimePoint start);
  // Destroys the callbacks still pending without calling them.
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Fires once, never early: at the first advance() that reaches the first whole millisecond at or after the deadline.
  // A deadline not after the time of the last advance is due at once: it fires at the next advance, even if the clock
  // stands still, and if added by a callback not in the same advance. Throws std::bad_alloc, then nothing is added.
  TimerId add(TimePoint deadline, Callback callback);

  // Fires at `first`, then at first + n * period without drift, until cancelled. Periods missed in a stall are
  // coalesced into one call; so is what falls into one tick. A period that is not > 0: std::invalid_argument.
  TimerId add_every(TimePoint first, Duration period, Callback callback);

  // True if the timer was pending: it will not fire, even if it was due in the advance under way. The callback is
  // destroyed before cancel() returns, unless it is the one that is running: then after its call.
  bool cancel(TimerId id);
  // Also those that the closures' destructors add meanwhile. Not from a timer's callback.
  void cancel_all();

  // Moves a pending timer to another deadline, a periodic one with its phase. False if it is not pending; but a timer
  // may re-arm itself from its own callback, also one that fires once. So an idle timeout needs no re-arm on every
  // byte: activity stores its time (one store), and the callback re-arms itself to last activity + timeout until
  // that has passed.
  bool rearm(TimerId id, TimePoint deadline);

  // Moves the time to `now` (a time before the last one counts as the last one) and fires what is due, in the order of
  // ticks and within one tick in the order of add or rearm; those due at once when added come first. Returns how many.
  // An exception of a callback comes through; the wheel stays whole: that timer is spent (a periodic one stays armed),
  // what else was due fires at the next advance.
  std::size_t advance(TimePoint now);

  // When to advance next: not after the tick of the earliest timer, and after the last advance unless some are due
  // already. Earlier than any timer where a cascade comes first. kNever if nothing is pending.
  TimePoint next() const;

  // Calls made, those that threw included, since the wheel was made.
  uint64_t fired() const { return fired_; }

  // How many are pending; the one whose callback is running counts if it is armed again.
  std::size_t size() const { return size_; }

 private:
  static constexpr uint32_t kLevels = 6;
  static constexpr uint32_t kLevelBits = 8;
  static constexpr uint32_t kSlots = 1u << kLevelBits;
  // List heads: one a slot, then those due at once, then those the advance under way is firing.
  static constexpr uint32_t kDue = kLevels * kSlots;
  static constexpr uint32_t kFiring = kDue + 1;
  static constexpr uint32_t kHeads = kFiring + 1;
  // Links are indices of timers, or from kHeadBase on of heads.
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kHeadBase = kNone - kHeads;
  static constexpr uint32_t kChunks = 25;  // 2^31 timers

  struct Link {
    uint32_t next;  // kNone if in no list; the free list's next
    uint32_t prev;
  };

  struct alignas(64) Timer {
    Timer() {}   // NOLINT(modernize-use-equals-default): a chunk's memory is not touched before its timers are used
    ~Timer() {}  // NOLINT(modernize-use-equals-default)

    TimePoint due;
    Duration period;      // 0: fires once
    uint32_t generation;  // odd while an id may use it
    union {
      Callback callback;
    };
  };
  static_assert(sizeof(Timer) == 64, "a timer is a cache line");

  struct Occupied {
    uint32_t head;
    uint64_t tick;  // the slot's first
  };

  Timer& timer(uint32_t slot) const;
  Link& link(uint32_t index);
  Timer* find(TimerId id) const;
  uint32_t allocate_slot();
  void release(uint32_t slot, Timer& own);

  void arm(uint32_t slot, Timer& own, TimePoint deadline);
  void place(uint32_t slot, const Timer& own);
  void clear_list(uint32_t head);
  void append(uint32_t head, uint32_t slot);
  void unlink(uint32_t slot);
  void splice(uint32_t from, uint32_t to);

  std::optional<Occupied> earliest() const;
  bool advance_to_next_due(uint64_t limit);
  void cascade(uint32_t head);
  void fire(uint32_t slot);

  TimePoint now_;
  uint64_t tick_;  // all before it have fired
  std::size_t size_ = 0;
  uint64_t fired_ = 0;
  uint32_t used_ = 0;  // timers of the chunks ever used
  uint32_t free_ = kNone;
  uint32_t running_ = kNone;  // the timer whose callback is being called
  bool advancing_ = false;
  // With a million timers the cost is cache misses: the links, which the neighbours of a cancelled timer and every walk
  // along a list touch, lie dense and apart.
  std::array<std::unique_ptr<Link[]>, kChunks> links_;
  std::array<std::unique_ptr<Timer[]>, kChunks> timers_;
  std::array<uint64_t, kDue / 64> occupied_{};
  std::array<Link, kHeads> heads_;
};

}  // namespace peal
