// SPDX-License-Identifier: BSD-3-Clause
#include <load/recording.h>

#include <gtest/gtest.h>

namespace peal::load {
namespace {

TEST(Recording, successive_spans_add_up) {
  Recording first(true);
  first.counts = {.messages = 2, .reads = 3, .bytes_received = 128, .bytes_sent = 192, .late_for_want = 1};
  first.span = Duration(10);
  first.cpu = Duration(5);
  first.spin = Duration(1);
  first.latency.record(100);
  first.service->record(90);
  first.send_lag->record(10);
  Recording second(true);
  second.add(first);
  second.add(first);
  EXPECT_EQ(second.counts.messages, 4U);
  EXPECT_EQ(second.counts.reads, 6U);
  EXPECT_EQ(second.counts.bytes_received, 256U);
  EXPECT_EQ(second.counts.bytes_sent, 384U);
  EXPECT_EQ(second.counts.late_for_want, 2U);
  EXPECT_EQ(second.span, Duration(20));
  EXPECT_EQ(second.cpu, Duration(10));
  EXPECT_EQ(second.spin, Duration(2));
  EXPECT_EQ(second.latency.count_at(100), 2U);
  EXPECT_EQ(second.service->count_at(90), 2U);
  EXPECT_EQ(second.send_lag->count_at(10), 2U);
}

TEST(Recording, a_closed_loop_keeps_one_histogram) {
  const Recording recording(false);
  EXPECT_FALSE(recording.service.has_value());
  EXPECT_FALSE(recording.send_lag.has_value());
}

TEST(Failures, the_first_of_a_kind_is_kept) {
  Failures some;
  some.add("reset", "first");
  some.add("reset", "second");
  Failures more;
  more.add("reset", "third");
  more.add("refused", "no");
  some.add(more);
  EXPECT_EQ(some.count(), 4U);
  EXPECT_EQ(some.kinds["reset"].count, 3U);
  EXPECT_EQ(some.kinds["reset"].first, "first");
  EXPECT_EQ(some.kinds["refused"].first, "no");
}

}  // namespace
}  // namespace peal::load
