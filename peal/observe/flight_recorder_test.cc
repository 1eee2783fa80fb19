// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/flight_recorder.h>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <peal/loop/loop.h>
#include <tests/support/engines/fake_engine.h>

namespace peal {
namespace {

using std::chrono::microseconds;

constexpr TimePoint kStart{std::chrono::hours(1)};
const int kSet = 0;
constexpr FlightId kOne{.owner = &kSet, .generation = 7, .slot = 1};
constexpr FlightId kOneLater{.owner = &kSet, .generation = 9, .slot = 1};
constexpr FlightId kTwo{.owner = &kSet, .generation = 7, .slot = 2};

// Returns a clock whose time is `after` microseconds after kStart.
auto at(int after) {
  return [after] { return kStart + microseconds(after); };
}

TEST(FlightRecorder, events_of_one_connection_come_oldest_first_and_no_others) {
  FlightRecorder recorder(16);
  recorder.record(at(0), kOne, FlightKind::kOpened);
  recorder.record(at(0), kTwo, FlightKind::kOpened);
  recorder.record(at(5), kOne, FlightKind::kReceived, 1000);
  recorder.record(at(5), kOneLater, FlightKind::kReceived, 1);
  const auto events = recorder.last(kOne);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, FlightKind::kOpened);
  EXPECT_EQ(events[1].kind, FlightKind::kReceived);
  EXPECT_EQ(events[1].bytes, 1000u);
  EXPECT_EQ(events[1].at, kStart + microseconds(5));
  EXPECT_EQ(recorder.last({}).size(), 4u);
  EXPECT_EQ(recorder.last(FlightId{}).size(), 0u);
}

TEST(FlightRecorder, full_ring_forgets_the_oldest) {
  FlightRecorder recorder(5);
  EXPECT_EQ(recorder.capacity(), 8u);
  for (uint64_t i = 1; i <= 20; ++i) recorder.record(at(0), i % 2 == 0 ? kOne : kTwo, FlightKind::kSent, i);
  EXPECT_EQ(recorder.recorded(), 20u);
  const auto events = recorder.last(kOne);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events.front().bytes, 14u);
  EXPECT_EQ(events.back().bytes, 20u);
  const auto two = recorder.last(kOne, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two.front().bytes, 18u);
}

TEST(FlightRecorder, dump_tells_times_before_the_last_event) {
  FlightRecorder recorder(8);
  EXPECT_EQ(recorder.dump(kOne), "");
  recorder.record(at(0), kOne, FlightKind::kOpened);
  recorder.record(at(1500), kTwo, FlightKind::kClosed);
  recorder.record(at(2500), kOne, FlightKind::kAboveHighWater, 65'536);
  EXPECT_EQ(recorder.dump(kOne), "      -2.500 ms  opened\n       0.000 ms  above high water 65536\n");
  EXPECT_NE(recorder.dump({}, 2).find("#2.7"), std::string::npos);
  recorder.record(at(3500), kOne, FlightKind::kClosing, 7);
  EXPECT_TRUE(recorder.dump(kOne, 1).ends_with("closing 7\n"));
  const auto words = [](uint64_t reason) { return reason == 7 ? std::string_view("seven") : std::string_view(); };
  EXPECT_TRUE(recorder.dump(kOne, 1, words).ends_with("closing: seven\n"));
}

TEST(FlightRecorder, by_cycles_nobody_is_asked_for_the_time) {
  if (!CycleClock::usable()) GTEST_SKIP() << "the kernel does not tell the time by a cycle counter here";
  FlightRecorder recorder(8, FlightRecorder::TimeBy::kCycles);
  const auto nobody = [] {
    ADD_FAILURE() << "asked";
    return TimePoint();
  };
  recorder.record(nobody, kOne, FlightKind::kReceived, 300);
  EXPECT_TRUE(recorder.record_by_cycles(kOne, FlightKind::kSent, uint64_t{1} << 40));
  const auto events = recorder.last(kOne);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].bytes, 300u);
  EXPECT_EQ(events[1].bytes, uint64_t{1} << 40);
  EXPECT_LE(events[0].at, events[1].at);
  EXPECT_LE(events[1].at, monotonic_now());
  EXPECT_FALSE(FlightRecorder(8).record_by_cycles(kOne, FlightKind::kSent, 1));
}

TEST(FlightRecorder, every_kind_has_a_name) {
  for (auto kind = static_cast<int>(FlightKind::kConnecting); kind <= static_cast<int>(FlightKind::kClosed); ++kind) {
    EXPECT_NE(to_string(static_cast<FlightKind>(kind)), "?") << kind;
  }
}

TEST(FlightRecorder, loop_has_none_until_it_is_enabled) {
  auto world = std::make_shared<test::FakeEngine::World>();
  Loop loop(std::make_unique<test::FakeEngine>(world), LoopOptions{});
  EXPECT_EQ(loop.flight_recorder(), nullptr);
  loop.enable_flight_recorder(100);
  ASSERT_NE(loop.flight_recorder(), nullptr);
  EXPECT_EQ(loop.flight_recorder()->capacity(), 128u);
  loop.post([&] {
    loop.flight_recorder()->record([&] { return loop.now(); }, kOne, FlightKind::kDeadline);
    loop.stop();
  });
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.flight_recorder()->last(kOne).at(0).at, world->now);
}

TEST(FlightRecorderDeathTest, no_room_and_too_much) {
  EXPECT_DEATH(FlightRecorder(0), "not 0");
  EXPECT_DEATH(FlightRecorder((size_t{1} << 24) + 1), "not 16777217");
}

}  // namespace
}  // namespace peal
