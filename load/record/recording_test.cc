// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/recording.h>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

TEST(Recording, successive_spans_add_up) {
  constexpr RecordingParts kAll{.open_loop = true, .first_byte = true, .handshake = true};
  Recording first(kAll);
  first.counts = {.messages = 2,
                  .wrong = 3,
                  .reads = 4,
                  .bytes_received = 128,
                  .bytes_sent = 192,
                  .late_for_want = 5,
                  .shed = 6,
                  .attempts = 7,
                  .connects = 8,
                  .under_way = 10,
                  .retired = 9,
                  .idle_closes = 11};
  first.span = Duration(10);
  first.cpu = Duration(5);
  first.spin = Duration(1);
  first.latency.record(100);
  first.service->record(90);
  first.send_lag->record(10);
  first.first_byte->record(80);
  first.connect.record(70);
  first.handshake->record(60);
  Recording second(kAll);
  second.add(first);
  second.add(first);
  EXPECT_EQ(second.counts.messages, 4U);
  EXPECT_EQ(second.counts.wrong, 6U);
  EXPECT_EQ(second.counts.reads, 8U);
  EXPECT_EQ(second.counts.bytes_received, 256U);
  EXPECT_EQ(second.counts.bytes_sent, 384U);
  EXPECT_EQ(second.counts.late_for_want, 10U);
  EXPECT_EQ(second.counts.shed, 12U);
  EXPECT_EQ(second.counts.attempts, 14U);
  EXPECT_EQ(second.counts.connects, 16U);
  EXPECT_EQ(second.counts.under_way, 20U);
  EXPECT_EQ(second.counts.retired, 18U);
  EXPECT_EQ(second.counts.idle_closes, 22U);
  EXPECT_EQ(second.span, Duration(20));
  EXPECT_EQ(second.cpu, Duration(10));
  EXPECT_EQ(second.spin, Duration(2));
  EXPECT_EQ(second.latency.count_at(100), 2U);
  EXPECT_EQ(second.service->count_at(90), 2U);
  EXPECT_EQ(second.send_lag->count_at(10), 2U);
  EXPECT_EQ(second.first_byte->count_at(80), 2U);
  EXPECT_EQ(second.connect.count_at(70), 2U);
  EXPECT_EQ(second.handshake->count_at(60), 2U);
}

TEST(Recording, a_closed_loop_keeps_one_histogram) {
  const Recording recording{RecordingParts{}};
  EXPECT_FALSE(recording.service.has_value());
  EXPECT_FALSE(recording.send_lag.has_value());
  EXPECT_FALSE(recording.handshake.has_value());
}

TEST(Failures, the_first_of_a_kind_is_kept) {
  Failures some;
  some.add("reset", "first");
  some.add("reset", "second", 5);
  Failures more;
  more.add("reset", "third");
  more.add("refused", "no");
  some.add(more);
  EXPECT_EQ(some.count(), 8U);
  EXPECT_EQ(some.kinds["reset"].count, 7U);
  EXPECT_EQ(some.kinds["reset"].first, "first");
  EXPECT_EQ(some.kinds["refused"].first, "no");
}

}  // namespace
}  // namespace peal::load
