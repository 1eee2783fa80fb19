// SPDX-License-Identifier: BSD-3-Clause
// Compares the wheel with other timer queues. One million timers are pending, with deadlines uniform over 1 ms to 60 s.
//   wheel         TimerWheel
//   indexed_heap  a binary heap with eager cancel: keys lie in the heap, every timer knows its place in it. The same
//                 callback type and generation-checked ids as the wheel's; its memory is reserved beforehand.
//   libuv         uv_timer_start, uv_timer_stop: a binary heap of linked nodes. The callback is a plain function, the
//                 handles are the user's: initialised beforehand, recycled last in first out.
// The result is the column per_op. uv_run() reads the clock itself, so libuv's timers are started on a loop whose time
// was set back to 0, and all are due in one uv_run(). It pops them in order of their deadlines, which is the same work.
// It saves the 60,000 advances that the others make in steps of 1 ms.
#include <peal/loop/timer_wheel.h>

#include <uv.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kPending = 1'000'000;
constexpr std::size_t kBatch = 100'000;
constexpr Duration kLast = seconds(60);

class WheelTimers {
 public:
  using Id = TimerId;
  explicit WheelTimers(std::size_t) {}
  Id add(TimePoint deadline, uint64_t* fired, uint64_t count) {
    return wheel_.add(deadline, [fired, count] { *fired += count; });
  }
  void cancel(Id id) { wheel_.cancel(id); }
  void rearm(Id id, TimePoint deadline) { wheel_.rearm(id, deadline); }
  void advance(TimePoint now) { wheel_.advance(now); }

 private:
  TimerWheel wheel_{TimePoint()};
};

class IndexedHeap {
 public:
  using Id = TimerId;
  using Callback = TimerWheel::Callback;

  explicit IndexedHeap(std::size_t capacity) {
    heap_.reserve(capacity);
    timers_.reserve(capacity);
  }

  Id add(TimePoint deadline, uint64_t* fired, uint64_t count) {
    return add(deadline, Callback([fired, count] { *fired += count; }));
  }

  void cancel(Id id) {
    Timer& timer = timers_[id.slot];
    if (timer.generation != id.generation) return;
    remove(timer.place);
    ++timer.generation;
    timer.callback = nullptr;
    timer.next_free = std::exchange(free_, id.slot);
  }

  void rearm(Id id, TimePoint deadline) {
    const Timer& timer = timers_[id.slot];
    if (timer.generation == id.generation) settle(timer.place, {deadline, id.slot});
  }

  void advance(TimePoint now) {
    while (!heap_.empty() && heap_.front().deadline <= now) {
      const uint32_t slot = heap_.front().slot;
      Timer& timer = timers_[slot];
      remove(0);
      ++timer.generation;
      timer.callback();
      timer.callback = nullptr;
      timer.next_free = std::exchange(free_, slot);
    }
  }

 private:
  struct Entry {
    TimePoint deadline;
    uint32_t slot;
  };
  struct alignas(64) Timer {
    Callback callback;
    uint32_t place = 0;
    uint32_t generation = 0;
    uint32_t next_free = 0;
  };

  Id add(TimePoint deadline, Callback callback) {
    uint32_t slot = free_;
    if (slot != kNone) {
      free_ = timers_[slot].next_free;
    } else {
      slot = static_cast<uint32_t>(timers_.size());
      timers_.emplace_back();
    }
    Timer& timer = timers_[slot];
    timer.callback = std::move(callback);
    ++timer.generation;
    heap_.push_back({});
    rise(static_cast<uint32_t>(heap_.size()) - 1, {deadline, slot});
    return {slot, timer.generation};
  }

  void remove(uint32_t place) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) settle(place, last);
  }

  void settle(uint32_t place, Entry entry) {
    if (place > 0 && entry.deadline < heap_[(place - 1) / 2].deadline) {
      rise(place, entry);
    } else {
      sink(place, entry);
    }
  }

  void rise(uint32_t place, Entry entry) {
    while (place > 0) {
      const uint32_t parent = (place - 1) / 2;
      if (heap_[parent].deadline <= entry.deadline) break;
      put(place, heap_[parent]);
      place = parent;
    }
    put(place, entry);
  }

  void sink(uint32_t place, Entry entry) {
    const auto size = static_cast<uint32_t>(heap_.size());
    for (uint32_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && heap_[child + 1].deadline < heap_[child].deadline) ++child;
      if (entry.deadline <= heap_[child].deadline) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, entry);
  }

  void put(uint32_t place, Entry entry) {
    heap_[place] = entry;
    timers_[entry.slot].place = place;
  }

  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Entry> heap_;
  std::vector<Timer> timers_;
  uint32_t free_ = kNone;
};

class LibuvTimers {
 public:
  using Id = uint32_t;

  explicit LibuvTimers(std::size_t capacity) : handles_(capacity), free_(capacity) {
    uv_loop_init(&loop_);
    for (uv_timer_t& handle : handles_) uv_timer_init(&loop_, &handle);
    std::iota(free_.rbegin(), free_.rend(), 0);
    loop_.time = 0;
  }
  ~LibuvTimers() {
    for (uv_timer_t& handle : handles_) uv_close(reinterpret_cast<uv_handle_t*>(&handle), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }
  LibuvTimers(const LibuvTimers&) = delete;
  LibuvTimers& operator=(const LibuvTimers&) = delete;

  Id add(TimePoint deadline, uint64_t* fired, uint64_t) {
    const Id id = free_.back();
    free_.pop_back();
    handles_[id].data = fired;
    start(id, deadline);
    return id;
  }
  void cancel(Id id) {
    uv_timer_stop(&handles_[id]);
    free_.push_back(id);
  }
  void rearm(Id id, TimePoint deadline) { start(id, deadline); }
  void advance(TimePoint) { uv_run(&loop_, UV_RUN_NOWAIT); }

 private:
  void start(Id id, TimePoint deadline) {
    const auto timeout = std::chrono::ceil<milliseconds>(deadline.time_since_epoch()).count();
    uv_timer_start(
        &handles_[id], [](uv_timer_t* handle) { ++*static_cast<uint64_t*>(handle->data); },
        static_cast<uint64_t>(timeout), 0);
  }

  uv_loop_t loop_{};
  std::vector<uv_timer_t> handles_;
  std::vector<Id> free_;
};

class Deadlines {
 public:
  TimePoint operator()() { return TimePoint(Duration(nanoseconds_(random_))); }

 private:
  std::mt19937_64 random_{1};
  std::uniform_int_distribution<int64_t> nanoseconds_{Duration(milliseconds(1)).count(), kLast.count()};
};

// One million pending timers, whose ids are in a random order, unrelated to the order of adding.
template <class Timers>
struct Crowd {
  Crowd() {
    for (std::size_t i = 0; i < kPending; ++i) ids.push_back(timers.add(deadlines(), &fired, 1));
    std::shuffle(ids.begin(), ids.end(), random);
  }

  std::vector<TimePoint> batch() {
    std::vector<TimePoint> result(kBatch);
    std::generate(result.begin(), result.end(), [this] { return deadlines(); });
    return result;
  }

  std::mt19937_64 random{2};
  Deadlines deadlines;
  uint64_t fired = 0;
  Timers timers{kPending + kBatch};
  std::vector<typename Timers::Id> ids;
};

void report(benchmark::State& state, std::size_t operations) {
  state.counters["per_op"] = benchmark::Counter(
      static_cast<double>(operations), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// Adds 100,000 timers to the million. They are cancelled again in random order outside the timed part.
template <class Timers>
void timer_add(benchmark::State& state) {
  Crowd<Timers> crowd;
  std::vector<typename Timers::Id> added(kBatch);
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<TimePoint> deadlines = crowd.batch();
    state.ResumeTiming();
    for (std::size_t i = 0; i < kBatch; ++i) added[i] = crowd.timers.add(deadlines[i], &crowd.fired, 1);
    state.PauseTiming();
    std::shuffle(added.begin(), added.end(), crowd.random);
    for (const auto id : added) crowd.timers.cancel(id);
    state.ResumeTiming();
  }
  report(state, kBatch);
}

// Cancels 100,000 random timers of the million. As many are added again outside the timed part.
template <class Timers>
void timer_cancel(benchmark::State& state) {
  Crowd<Timers> crowd;
  for (auto _ : state) {
    for (std::size_t i = 0; i < kBatch; ++i) crowd.timers.cancel(crowd.ids[i]);
    state.PauseTiming();
    for (std::size_t i = 0; i < kBatch; ++i) crowd.ids[i] = crowd.timers.add(crowd.deadlines(), &crowd.fired, 1);
    std::shuffle(crowd.ids.begin(), crowd.ids.end(), crowd.random);
    state.ResumeTiming();
  }
  report(state, kBatch);
}

// Moves 100,000 random timers of the million to other deadlines.
template <class Timers>
void timer_rearm(benchmark::State& state) {
  Crowd<Timers> crowd;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<TimePoint> deadlines = crowd.batch();
    std::shuffle(crowd.ids.begin(), crowd.ids.end(), crowd.random);
    state.ResumeTiming();
    for (std::size_t i = 0; i < kBatch; ++i) crowd.timers.rearm(crowd.ids[i], deadlines[i]);
  }
  report(state, kBatch);
}

// Lets the whole million expire.
template <class Timers>
void timer_expire(benchmark::State& state) {
  const milliseconds step(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    auto crowd = std::make_unique<Crowd<Timers>>();
    state.ResumeTiming();
    for (Duration now = step; now < kLast + step; now += step) crowd->timers.advance(TimePoint(now));
    state.PauseTiming();
    if (crowd->fired != kPending) state.SkipWithError("some timers did not fire");
    crowd.reset();
    state.ResumeTiming();
  }
  report(state, kPending);
}

BENCHMARK(timer_add<WheelTimers>)->Name("BM_timer_add/wheel")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_add<IndexedHeap>)->Name("BM_timer_add/indexed_heap")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_add<LibuvTimers>)->Name("BM_timer_add/libuv")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_cancel<WheelTimers>)->Name("BM_timer_cancel/wheel")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_cancel<IndexedHeap>)->Name("BM_timer_cancel/indexed_heap")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_cancel<LibuvTimers>)->Name("BM_timer_cancel/libuv")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_rearm<WheelTimers>)->Name("BM_timer_rearm/wheel")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_rearm<IndexedHeap>)->Name("BM_timer_rearm/indexed_heap")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_rearm<LibuvTimers>)->Name("BM_timer_rearm/libuv")->Unit(benchmark::kMillisecond);
BENCHMARK(timer_expire<WheelTimers>)
    ->Name("BM_timer_expire/wheel")
    ->Unit(benchmark::kMillisecond)
    ->ArgName("step_ms")
    ->Arg(1)
    ->Arg(100)
    ->Arg(60'000);
BENCHMARK(timer_expire<IndexedHeap>)
    ->Name("BM_timer_expire/indexed_heap")
    ->Unit(benchmark::kMillisecond)
    ->ArgName("step_ms")
    ->Arg(1)
    ->Arg(100)
    ->Arg(60'000);
BENCHMARK(timer_expire<LibuvTimers>)
    ->Name("BM_timer_expire/libuv")
    ->Unit(benchmark::kMillisecond)
    ->ArgName("step_ms")
    ->Arg(60'000);

}  // namespace
}  // namespace peal
