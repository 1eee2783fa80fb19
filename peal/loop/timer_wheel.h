// SPDX-License-Identifier: BSD-3-Clause
// TimerWheel: a hierarchical timing wheel. Adding, cancelling and re-arming a timer are O(1), however many timers are
// pending.
//
// The wheel has six levels of 256 slots. A slot of level 0 is one tick of 1 ms, a slot of level n is 256^n ticks, so
// there is a slot for every TimePoint. A timer is stored at the level of the highest byte in which its tick differs
// from the wheel's current tick. When the wheel enters a slot of a higher level, it distributes the timers of that slot
// to the levels below (a cascade). A timer is moved at most once per level; a timer due within a minute is moved once
// or twice. Bitmaps skip the empty slots: a clock that jumps by years costs no more than the timers in between.
//
//   level 1  [ ][x][ ][ ]...   a slot is 256 ms ----+
//   level 0  [ ][ ][x][ ]...   a slot is 1 ms   <---+ cascade when the wheel enters the upper slot
//
// The wheel is a pure data structure: it reads no clock and knows no loop; its owner passes the time to advance(). It
// is used by one thread and owned by the Loop.
//
// Memory: a timer takes 72 bytes, which include its callback. (std::move_only_function allocates a closure of more than
// three words on the heap.) Timers live in chunks that double in size, never move and are never returned, so memory
// follows the highest number of timers that were pending at once. A wheel without timers has 12 KiB of slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <peal/base/callback.h>
#include <peal/base/clock.h>

namespace peal {

// Identifies one timer of one wheel. After the timer has fired for the last time or was cancelled, functions that get
// its id do nothing, even if another timer uses the slot now. A default TimerId identifies no timer.
struct TimerId {
  uint32_t slot = 0;
  uint32_t generation = 0;

  bool operator==(const TimerId&) const = default;
  explicit operator bool() const { return generation != 0; }
};

// A hierarchical timing wheel. Callbacks of timers, and the destructors of their closures, may add, cancel and re-arm
// any timer, including their own. They must not call advance() or destroy the wheel. Callbacks may throw.
class TimerWheel {
 public:
  using Callback = peal::Callback<void()>;

  // Makes an empty wheel whose time is `start` until the first advance(). Asserts that `start` is not before the epoch.
  explicit TimerWheel(TimePoint start);
  // Destroys the callbacks of all pending timers without calling them.
  ~TimerWheel();
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // Adds a timer that fires once. It never fires early, but at the first advance() that reaches the first whole
  // millisecond at or after `deadline`. If `deadline` is not after the time of the last advance(), the timer fires at
  // the next advance(), even if the clock has not moved. An advance() in progress does not fire it. Asserts that
  // `callback` is not empty. Throws std::bad_alloc; then no timer is added.
  TimerId add(TimePoint deadline, Callback callback);

  // Adds a timer that fires at `first` and then at first + n * period, without drift, until it is cancelled. If several
  // periods pass before an advance(), or fall into one tick, the callback is called once for them. Throws
  // std::invalid_argument if `period` is not > 0.
  TimerId add_every(TimePoint first, Duration period, Callback callback);

  // Cancels a timer. Returns true if the timer was pending: it will not fire, even if it is due in an advance() that is
  // in progress. The callback is destroyed before cancel() returns, or at the end of its call if it is running now.
  bool cancel(TimerId id);
  // Cancels all timers, including those that the destructors of the cancelled closures add. Must not be called from a
  // timer's callback.
  void cancel_all();

  // Moves a pending timer to another deadline. A periodic timer continues from there with its period. Returns false if
  // the timer is not pending. A timer's own callback may always re-arm its timer, even if the timer fires only once.
  // Example: an idle timeout needs no rearm() for each byte received. Each activity only stores its time. The callback
  // re-arms its timer to last activity + timeout, until that time has passed.
  bool rearm(TimerId id, TimePoint deadline);

  // Sets the time to `now`, unless the time of the wheel is later, and fires the due timers. Returns how many fired.
  // The timers that were already due when they were added fire first. The others fire tick by tick, those of one tick
  // in the order of add() or rearm().
  // If a callback throws, advance() passes the exception on. That timer counts as fired (a periodic timer stays armed),
  // and the remaining due timers fire at the next advance().
  std::size_t advance(TimePoint now);

  // Returns when to call advance() next.
  //   kNever                          no timer is pending
  //   the time of the last advance()  timers are already due
  //   a later time                    the tick of the earliest timer, or an earlier tick if a cascade is needed before
  TimePoint next() const;

  // Returns how many callbacks were called since the wheel was made, including those that threw.
  uint64_t fired() const { return fired_; }

  // Returns how many timers are pending. A timer whose callback is running counts only if it is armed again.
  std::size_t size() const { return size_; }

 private:
  static constexpr uint32_t kLevels = 6;
  static constexpr uint32_t kLevelBits = 8;
  static constexpr uint32_t kSlots = 1u << kLevelBits;
  // Each timer is in a circular list. Each slot of the wheel has a list head. List kDue has the timers that were
  // already due when they were added. List kFiring has the timers that the advance() in progress fires.
  static constexpr uint32_t kDue = kLevels * kSlots;
  static constexpr uint32_t kFiring = kDue + 1;
  static constexpr uint32_t kHeads = kFiring + 1;
  // A link is an index. An index below kHeadBase is the slot of a timer, and kHeadBase + n is list head n.
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kHeadBase = kNone - kHeads;
  static constexpr uint32_t kChunks = 25;  // 2^31 timers

  struct Link {
    uint32_t next;  // kNone if the timer is in no list; for a free slot, the next slot of the free list
    uint32_t prev;
  };

  struct alignas(64) Timer {
    // The constructor initializes nothing, so that a new chunk's memory is not touched before its timers are used.
    Timer() {}   // NOLINT(modernize-use-equals-default)
    ~Timer() {}  // NOLINT(modernize-use-equals-default)

    TimePoint due;
    Duration period;      // 0 if the timer fires once
    uint32_t generation;  // odd while a TimerId may name this timer
    union {
      Callback callback;
    };
  };
  static_assert(sizeof(Timer) == 64, "a timer is a cache line");

  struct Occupied {
    uint32_t head;
    uint64_t tick;  // the first tick of the slot
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
  uint64_t tick_;  // all timers of earlier ticks have fired
  std::size_t size_ = 0;
  uint64_t fired_ = 0;
  uint32_t used_ = 0;  // how many slots of the chunks were ever used
  uint32_t free_ = kNone;
  uint32_t running_ = kNone;  // the timer whose callback is running
  bool advancing_ = false;
  // With a million timers, cache misses dominate the cost. Cancelling a timer and walking a list touch only the links
  // of other timers. Therefore the links are stored close together and apart from the timers.
  std::array<std::unique_ptr<Link[]>, kChunks> links_;
  std::array<std::unique_ptr<Timer[]>, kChunks> timers_;
  std::array<uint64_t, kDue / 64> occupied_{};
  std::array<Link, kHeads> heads_;
};

}  // namespace peal
