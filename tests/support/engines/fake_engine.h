// SPDX-License-Identifier: BSD-3-Clause
// FakeEngine: an engine without sockets, whose clock is set by the test. It is for tests of code that depends on time.
//
// wait() moves the clock forward to the next event that the test has planned, or to the deadline if that comes first.
// If the waker was called, wait() returns without moving the clock. If wait() only polls and finds nothing, it moves
// the clock by World::poll_cost.
//
// The engine is used on one thread. Its waker may be called on any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <peal/base/assert.h>
#include <peal/engine/engine.h>

namespace peal::test {

class FakeEngine final : public Engine {
 public:
  // The state that the engine and the test share. The loop owns the engine, so the test cannot reach the engine itself.
  struct World {
    TimePoint now{std::chrono::hours(1)};
    Duration poll_cost = std::chrono::microseconds(1);  // time that a wait() takes if it only polls and finds nothing
    std::multimap<TimePoint, std::move_only_function<void()>> events;
    std::error_code open_error;
    std::vector<TimePoint> deadlines;  // the deadlines of all calls of wait() that may sleep
    std::move_only_function<void()> on_shut;
    Duration slept{};  // total time that wait() has slept
    uint64_t polls = 0;
    uint64_t clock_reads = 0;
    bool open = false;

    void plan(Duration from_now, std::move_only_function<void()> event) {
      events.emplace(now + from_now, std::move(event));
    }
  };

  explicit FakeEngine(std::shared_ptr<World> world) : world_(std::move(world)) {}

  std::string_view name() const override { return "fake"; }
  Result<void> open() override {
    if (world_->open_error) return std::unexpected(world_->open_error);
    world_->open = true;
    return {};
  }
  void shut() override {
    if (world_->on_shut) world_->on_shut();
    world_->open = false;
  }

  void before_wait(std::move_only_function<bool()> task) override { before_wait_.push_back(std::move(task)); }
  size_t wait(TimePoint deadline) override {
    PEAL_ASSERT(world_->open, "wait() on an engine that is not open, deadline {}", deadline.time_since_epoch().count());
    const TimePoint began = world_->now;
    for (auto& task : std::exchange(before_wait_, {})) {
      if (task()) deadline = kPollOnly;
    }
    if (worked_ != nullptr) *worked_ += world_->now - began;
    if (deadline != kPollOnly) {
      world_->deadlines.push_back(deadline);
      sleep_until(deadline);
    }
    if (woke_at_ != nullptr) *woke_at_ = world_->now;
    const size_t handled = dispatch() + (waker_->woken.exchange(false) ? 1 : 0);
    if (deadline == kPollOnly) {
      ++world_->polls;
      if (handled == 0) world_->now += world_->poll_cost;
    }
    return handled;
  }
  void note_waits(TimePoint& woke_at, Duration& worked) override {
    woke_at_ = &woke_at;
    worked_ = &worked;
  }
  TimePoint now() const override {
    ++world_->clock_reads;
    return world_->now;
  }
  bool keeps_real_time() const override { return false; }
  std::shared_ptr<Waker> waker() override { return waker_; }
  const EngineStats& stats() const override { return stats_; }
  uint64_t wakes() const { return waker_->wakes.load(); }

  Result<ListenerId> bind(const SocketAddress&, const ListenOptions&) override { return fail(ENOSYS); }
  Result<SocketAddress> local_address(ListenerId) const override { return fail(ENOSYS); }
  void accept(ListenerId, AcceptEvents&) override {}
  void stop(ListenerId) override {}
  StreamId connect(const SocketAddress&, const ConnectOptions&, StreamEvents&) override { return {}; }
  StreamId adopt(LooseStream, StreamEvents&) override { return {}; }
  void detach(StreamId) override {}
  void receive(StreamId, bool) override {}
  size_t send(StreamId, Buffer&&) override { return 0; }
  size_t send_copy(StreamId, std::string_view) override { return 0; }
  void report_sent(StreamId) override {}
  void send_file(StreamId, FileRange) override {}
  bool forward(StreamId, StreamId) override { return false; }
  uint64_t forwarded_bytes(StreamId) const override { return 0; }
  size_t queued_bytes(StreamId) const override { return 0; }
  size_t held_bytes(StreamId) const override { return 0; }
  uint64_t unsent_bytes(StreamId) const override { return 0; }
  void shutdown_send(StreamId) override {}
  void close(StreamId, CloseHow) override {}
  Result<SocketAddress> local_address(StreamId) const override { return fail(ENOSYS); }
  Result<SocketAddress> peer_address(StreamId) const override { return fail(ENOSYS); }
  Result<void> set_option(StreamId, SocketOption, int) override { return fail(ENOSYS); }
  Result<WatchId> watch(int, bool, bool, WatchEvents&) override { return WatchId{}; }
  void unwatch(WatchId) override {}
  Result<Datagrams*> open_datagrams(const SocketAddress&, const DatagramOptions&, DatagramEvents&) override {
    return fail(ENOSYS);
  }

 private:
  struct FakeWaker final : Waker {
    void wake() override {
      ++wakes;
      woken = true;
    }
    std::atomic<bool> woken = false;
    std::atomic<uint64_t> wakes = 0;
  };

  void sleep_until(TimePoint deadline) {
    if (waker_->woken) return;
    const TimePoint event = world_->events.empty() ? kNever : world_->events.begin()->first;
    const TimePoint until = std::min(event, deadline);
    PEAL_ASSERT(until != kNever, "the loop would sleep for ever, after {} sleeps", world_->deadlines.size());
    if (until <= world_->now) return;
    world_->slept += until - world_->now;
    world_->now = until;
  }
  size_t dispatch() {
    size_t handled = 0;
    while (!world_->events.empty() && world_->events.begin()->first <= world_->now) {
      auto event = world_->events.extract(world_->events.begin());
      event.mapped()();
      ++handled;
    }
    return handled;
  }

  std::shared_ptr<World> world_;
  std::shared_ptr<FakeWaker> waker_ = std::make_shared<FakeWaker>();
  EngineStats stats_;
  std::vector<std::move_only_function<bool()>> before_wait_;
  TimePoint* woke_at_ = nullptr;
  Duration* worked_ = nullptr;
};

}  // namespace peal::test
