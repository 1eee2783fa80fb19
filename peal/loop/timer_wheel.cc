// SPDX-License-Identifier: BSD-3-Clause
// Every list is circular through its head and linked by index. Timers are appended at the tail and a cascade keeps
// their order, so the timers of one tick fire in the order they were armed. New timers cannot overtake older ones of a
// higher level: a tick gets a slot of a lower level only after the wheel has entered and cascaded the slot above.
#include <peal/loop/timer_wheel.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/bad_value.h>

namespace peal {
namespace {

constexpr int64_t kNanosecondsPerTick = 1'000'000;

uint64_t ticks_down(TimePoint time) {
  return static_cast<uint64_t>(time.time_since_epoch().count() / kNanosecondsPerTick);
}

// Returns `time` in ticks, rounded up. `time` must be after the epoch. Subtracting 1 ns first cannot overflow, whereas
// adding nearly a tick could.
uint64_t ticks_up(TimePoint time) {
  return static_cast<uint64_t>((time.time_since_epoch().count() - 1) / kNanosecondsPerTick) + 1;
}

TimePoint time_of(uint64_t tick) {
  if (tick > ticks_down(kNever)) return kNever;
  return TimePoint(Duration(static_cast<int64_t>(tick) * kNanosecondsPerTick));
}

// Chunk n holds kFirstChunk * 2^n slots, and its first slot is kFirstChunk * (2^n - 1). chunk_and_index() returns the
// chunk of a slot and the slot's index in that chunk.
constexpr uint32_t kFirstChunk = 64;
std::pair<uint32_t, uint32_t> chunk_and_index(uint32_t slot) {
  const uint32_t number = slot + kFirstChunk;
  const auto top = static_cast<uint32_t>(std::bit_width(number)) - 1;
  return {top - static_cast<uint32_t>(std::bit_width(kFirstChunk)) + 1, number ^ (1u << top)};
}

template <class Function>
struct Finally {
  Function function;
  ~Finally() { function(); }
};

}  // namespace

TimerWheel::TimerWheel(TimePoint start) : now_(start), tick_(ticks_down(start)) {
  PEAL_ASSERT(start >= TimePoint(), "time starts {} ns before the epoch", -start.time_since_epoch().count());
  for (uint32_t head = 0; head < kHeads; ++head) clear_list(head);
}

TimerWheel::~TimerWheel() {
  PEAL_ASSERT(!advancing_, "a timer's callback destroys its wheel, {} timers pending", size_);
  cancel_all();
}

void TimerWheel::cancel_all() {
  // The loop repeats because a closure's destructor may add timers in slots that were visited before.
  while (size_ > 0) {
    for (uint32_t slot = 0; slot < used_; ++slot) cancel({slot, timer(slot).generation | 1});
  }
}

TimerId TimerWheel::add(TimePoint deadline, Callback callback) {
  PEAL_ASSERT(callback, "a timer without a callback, {} timers pending", size_);
  const uint32_t slot = allocate_slot();
  Timer& own = timer(slot);
  std::construct_at(&own.callback, std::move(callback));
  own.period = Duration::zero();
  arm(slot, own, deadline);
  return {slot, own.generation};
}

TimerId TimerWheel::add_every(TimePoint first, Duration period, Callback callback) {
  if (period <= Duration::zero()) throw_bad_value("a timer with a period of {} ns", period.count());
  const TimerId id = add(first, std::move(callback));
  timer(id.slot).period = period;
  return id;
}

bool TimerWheel::cancel(TimerId id) {
  Timer* own = find(id);
  if (own == nullptr || link(id.slot).next == kNone) return false;
  unlink(id.slot);
  if (id.slot == running_) {
    ++own->generation;  // makes the id stale; fire() releases the closure after its call
  } else {
    release(id.slot, *own);
  }
  return true;
}

bool TimerWheel::rearm(TimerId id, TimePoint deadline) {
  Timer* own = find(id);
  if (own == nullptr) return false;
  if (link(id.slot).next != kNone) unlink(id.slot);
  arm(id.slot, *own, deadline);
  return true;
}

std::size_t TimerWheel::advance(TimePoint now) {
  PEAL_ASSERT(!advancing_, "a timer's callback advances its wheel, {} timers pending", size_);
  advancing_ = true;
  const Finally done{[this] { advancing_ = false; }};
  now_ = std::max(now_, now);
  const uint64_t limit = ticks_down(now_);
  const uint64_t before = fired_;
  splice(kDue, kFiring);
  do {
    while (heads_[kFiring].next < kHeadBase) fire(heads_[kFiring].next);
  } while (advance_to_next_due(limit));
  return fired_ - before;
}

TimePoint TimerWheel::next() const {
  if (heads_[kDue].next < kHeadBase || heads_[kFiring].next < kHeadBase) return now_;
  const std::optional<Occupied> slot = earliest();
  return slot ? time_of(slot->tick) : kNever;
}

TimerWheel::Timer& TimerWheel::timer(uint32_t slot) const {
  const auto [chunk, index] = chunk_and_index(slot);
  return timers_[chunk][index];
}

TimerWheel::Link& TimerWheel::link(uint32_t index) {
  if (index >= kHeadBase) return heads_[index - kHeadBase];
  const auto [chunk, offset] = chunk_and_index(index);
  return links_[chunk][offset];
}

TimerWheel::Timer* TimerWheel::find(TimerId id) const {
  if (id.slot >= used_ || (id.generation & 1) == 0) return nullptr;
  Timer& own = timer(id.slot);
  return own.generation == id.generation ? &own : nullptr;
}

uint32_t TimerWheel::allocate_slot() {
  uint32_t slot = free_;
  if (slot != kNone) {
    free_ = link(slot).next;
  } else {
    slot = used_;
    const auto [chunk, index] = chunk_and_index(slot);
    PEAL_ASSERT(chunk < kChunks, "the wheel is full: {} timers are pending", size_);
    if (index == 0) {
      const std::size_t size = std::size_t{kFirstChunk} << chunk;
      links_[chunk] = std::make_unique_for_overwrite<Link[]>(size);
      timers_[chunk] = std::make_unique_for_overwrite<Timer[]>(size);
    }
    ++used_;
    timer(slot).generation = 0;
  }
  ++timer(slot).generation;
  return slot;
}

// Destroys the callback of a timer and frees its slot. The closure's destructor may call functions of the wheel. So the
// id becomes stale before the destructor runs, and the slot becomes free only afterwards.
void TimerWheel::release(uint32_t slot, Timer& own) {
  own.generation += own.generation & 1;
  std::destroy_at(&own.callback);
  link(slot).next = std::exchange(free_, slot);
}

void TimerWheel::arm(uint32_t slot, Timer& own, TimePoint deadline) {
  ++size_;
  own.due = std::max(deadline, TimePoint());
  if (deadline <= now_) {
    append(kDue, slot);
  } else {
    place(slot, own);
  }
}

void TimerWheel::place(uint32_t slot, const Timer& own) {
  const uint64_t tick = ticks_up(own.due);
  const auto highest = static_cast<uint32_t>(std::bit_width((tick ^ tick_) | 1)) - 1;
  const uint32_t level = highest / kLevelBits;
  const uint32_t head = level * kSlots + static_cast<uint32_t>(tick >> (level * kLevelBits)) % kSlots;
  occupied_[head / 64] |= uint64_t{1} << (head % 64);
  append(head, slot);
}

void TimerWheel::clear_list(uint32_t head) { heads_[head] = {kHeadBase + head, kHeadBase + head}; }

void TimerWheel::append(uint32_t head, uint32_t slot) {
  const uint32_t last = std::exchange(heads_[head].prev, slot);
  link(slot) = {kHeadBase + head, last};
  link(last).next = slot;
}

void TimerWheel::unlink(uint32_t slot) {
  const auto [next, prev] = std::exchange(link(slot), Link{kNone, kNone});
  link(next).prev = prev;
  link(prev).next = next;
  --size_;
  // If both neighbours are the same, they are the head of the list, and the list is now empty.
  if (next == prev && next < kHeadBase + kDue) {
    const uint32_t head = next - kHeadBase;
    occupied_[head / 64] &= ~(uint64_t{1} << (head % 64));
  }
}

// Moves all timers of list `from` to the end of list `to`.
void TimerWheel::splice(uint32_t from, uint32_t to) {
  Link& source = heads_[from];
  if (source.next >= kHeadBase) return;
  Link& target = heads_[to];
  link(source.next).prev = target.prev;
  link(target.prev).next = source.next;
  link(source.prev).next = kHeadBase + to;
  target.prev = source.prev;
  clear_list(from);
}

// Returns the first slot that has timers, or nullopt. Timers of a lower level are always earlier than those of a higher
// level. Above level 0, the slot that contains the current tick is empty, because its timers were cascaded when the
// wheel entered it.
std::optional<TimerWheel::Occupied> TimerWheel::earliest() const {
  for (uint32_t level = 0; level < kLevels; ++level) {
    const uint32_t shift = level * kLevelBits;
    const uint32_t from = static_cast<uint32_t>(tick_ >> shift) % kSlots;
    uint64_t mask = ~uint64_t{0} << (from % 64);
    for (uint32_t word = from / 64; word < kSlots / 64; ++word, mask = ~uint64_t{0}) {
      const uint64_t bits = occupied_[level * (kSlots / 64) + word] & mask;
      if (bits == 0) continue;
      const uint32_t slot = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
      const uint64_t turn = tick_ >> shift >> kLevelBits << kLevelBits;
      return Occupied{level * kSlots + slot, (turn | slot) << shift};
    }
  }
  return std::nullopt;
}

// Moves the wheel to the next tick that has timers, moves these timers to the empty firing list, and returns true. If
// there is no such tick up to `limit`, moves the wheel to `limit` and returns false.
bool TimerWheel::advance_to_next_due(uint64_t limit) {
  while (const std::optional<Occupied> slot = earliest()) {
    if (slot->tick > limit) break;
    tick_ = slot->tick;
    occupied_[slot->head / 64] &= ~(uint64_t{1} << (slot->head % 64));
    if (slot->head < kSlots) {
      splice(slot->head, kFiring);
      return true;
    }
    cascade(slot->head);
  }
  tick_ = limit;
  return false;
}

// Distributes the timers of one list to lower levels. A second cursor runs kPrefetch timers ahead and prefetches them
// into the cache, which makes expiry a third cheaper.
void TimerWheel::cascade(uint32_t head) {
  constexpr int kPrefetch = 8;
  uint32_t slot = heads_[head].next;
  uint32_t ahead = slot;
  clear_list(head);
  for (int lead = 0; slot < kHeadBase; ++lead) {
    if (ahead < kHeadBase) {
      __builtin_prefetch(&timer(ahead));
      ahead = link(ahead).next;
      if (lead < kPrefetch) continue;
    }
    const uint32_t next = link(slot).next;
    place(slot, timer(slot));
    slot = next;
  }
}

void TimerWheel::fire(uint32_t slot) {
  Timer& own = timer(slot);
  const uint32_t next = link(slot).next;
  if (next < kHeadBase) __builtin_prefetch(&timer(next));
  unlink(slot);
  if (own.period > Duration::zero()) {
    const TimePoint last = now_ - (now_ - own.due) % own.period;
    arm(slot, own, later(last, own.period));
  }
  running_ = slot;
  ++fired_;
  const Finally done{[this, slot, &own] {
    running_ = kNone;
    if (link(slot).next == kNone) release(slot, own);
  }};
  own.callback();
}

}  // namespace peal
