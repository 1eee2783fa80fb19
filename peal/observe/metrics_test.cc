// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/metrics.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::HasSubstr;

// Returns the metric of this name and these labels, if it is shown.
std::optional<MetricReading> reading_of(std::string_view name, const MetricLabels& labels = {}) {
  const MetricReadings readings = read_metrics();
  const auto found = std::ranges::find_if(
      readings.metrics, [&](const MetricReading& each) { return each.name == name && each.labels == labels; });
  return found == readings.metrics.end() ? std::nullopt : std::optional(*found);
}

// Returns what the constructor of a metric complains of, or "" if it throws nothing.
std::string complaint_of(const std::function<void()>& make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

std::string complaint_of_name(std::string_view name) {
  return complaint_of([&] { const Counter made(name, "Counts."); });
}

TEST(Metrics, a_counter_is_shown_as_long_as_it_lives) {
  EXPECT_FALSE(reading_of("short_life_total"));
  {
    Counter counter("short_life_total", "Things that happened.");
    counter.add();
    counter.add(41);
    EXPECT_EQ(counter.value(), 42U);
    const auto seen = reading_of("short_life_total");
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->help, "Things that happened.");
    EXPECT_EQ(seen->kind, MetricKind::kCounter);
    EXPECT_EQ(seen->unit, "");
    EXPECT_EQ(seen->count, 42U);
  }
  EXPECT_FALSE(reading_of("short_life_total"));
  const Counter again("short_life_total", "A new metric, which may have another help text.");
  EXPECT_EQ(again.value(), 0U);
}

TEST(Metrics, a_gauge_is_set_and_changed) {
  Gauge gauge("room_degrees", "How warm it is.");
  EXPECT_EQ(gauge.value(), 0);
  gauge.set(21.5);
  gauge.add(-1.25);
  EXPECT_EQ(gauge.value(), 20.25);
  EXPECT_EQ(reading_of("room_degrees")->value, 20.25);
}

TEST(Metrics, a_time_histogram_has_the_times_and_their_sum) {
  TimeHistogram times("answer_seconds", "Time to the answer.");
  for (int i = 1; i <= 100; ++i) times.record(milliseconds(i));
  times.record(milliseconds(-5));
  times.record(std::chrono::hours(5));
  const auto seen = reading_of("answer_seconds");
  ASSERT_TRUE(seen && seen->histogram);
  EXPECT_EQ(seen->unit, "seconds");
  EXPECT_EQ(seen->histogram->total_count(), 102U);
  EXPECT_NEAR(static_cast<double>(seen->histogram->value_at_percentile(50)), 50e6, 1e6);
  EXPECT_NEAR(seen->sum, 5.050 + 3600, 1e-9);
  EXPECT_EQ(times.value(), *seen->histogram);
}

TEST(Metrics, a_value_histogram_has_the_unit_of_its_name) {
  ValueHistogram bytes("order_bytes", "Size of an order.");
  ValueHistogram plain("order_items", "Items of an order.");
  bytes.record(100'000);
  bytes.record(0);
  plain.record(3);
  plain.record(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(reading_of("order_bytes")->unit, "bytes");
  EXPECT_EQ(reading_of("order_bytes")->sum, 100'000);
  EXPECT_EQ(reading_of("order_items")->unit, "");
  EXPECT_EQ(plain.value().count_at(3), 1U);
  EXPECT_EQ(plain.value().total_count(), 2U);
}

TEST(Metrics, a_counter_gets_its_suffix_and_its_unit_stands_before_it) {
  Counter short_name("sent_bytes", "Bytes sent.");
  Counter long_name("sent_bytes_total", "Bytes sent.");
  short_name.add(5);
  long_name.add(6);
  EXPECT_EQ(reading_of("sent_bytes_total")->count, 11U);
  EXPECT_EQ(reading_of("sent_bytes_total")->unit, "bytes");
}

TEST(Metrics, objects_with_the_same_name_and_labels_are_one_metric) {
  auto first = std::make_unique<Counter>("twins_total", "Twins.", MetricLabels{{"a", "1"}, {"b", "2"}});
  Counter second("twins_total", "Twins.", {{"b", "2"}, {"a", "1"}});
  first->add(3);
  second.add(4);
  EXPECT_EQ(second.value(), 7U);
  first.reset();
  EXPECT_EQ(second.value(), 7U);
}

TEST(Metrics, other_labels_make_another_metric_of_the_same_family) {
  Counter fresh("kinds_total", "Kinds.", {{"kind", "new"}});
  Counter old("kinds_total", "Kinds.", {{"kind", "old"}});
  fresh.add(1);
  old.add(2);
  EXPECT_EQ(reading_of("kinds_total", {{"kind", "new"}})->count, 1U);
  EXPECT_EQ(reading_of("kinds_total", {{"kind", "old"}})->count, 2U);
  EXPECT_FALSE(reading_of("kinds_total"));
}

TEST(Metrics, a_metric_of_another_kind_or_help_is_refused) {
  const Counter counter("known_total", "Known.");
  const TimeHistogram times("known_seconds", "Known times.");
  EXPECT_THAT(complaint_of([] { const Gauge made("known", "Known."); }), HasSubstr("is a Counter already"));
  EXPECT_THAT(complaint_of([] { const Counter made("known_total", "Unknown."); }),
              HasSubstr("two help texts: \"Known.\" and \"Unknown.\""));
  EXPECT_THAT(complaint_of([] { const Counter made("known_total", "Unknown.", {{"kind", "a"}}); }),
              HasSubstr("two help texts"));
  EXPECT_THAT(complaint_of([] { const Gauge made("known_seconds", "Known times."); }), HasSubstr("TimeHistogram"));
}

TEST(Metrics, metrics_whose_samples_would_have_the_same_name_are_refused) {
  const ValueHistogram values("basket_items", "Items.");
  const Counter counter("basket_total", "Baskets.");
  for (const std::string_view name : {"basket_items_sum", "basket_items_count", "basket_items_bucket"}) {
    EXPECT_THAT(complaint_of([&] { const Gauge made(name, "Items."); }), HasSubstr("\"basket_items\" has samples"));
  }
  EXPECT_THAT(complaint_of([] { const Gauge made("basket_total", "Baskets."); }), HasSubstr("\"basket_total\""));
  const Gauge sum("box_items_sum", "Items.");
  EXPECT_THAT(complaint_of([] { const ValueHistogram made("box_items", "Items."); }), HasSubstr("box_items_sum"));
  EXPECT_THAT(complaint_of([] { const Counter made("basket_items_sum", "Sums."); }), HasSubstr("basket_items"));
  EXPECT_EQ(complaint_of([] { const Gauge made("basket_items_most", "Most."); }), "");
}

TEST(Metrics, names_follow_the_rules_of_prometheus) {
  for (const std::string_view good : {"a", "A9", "_x", ":rule:y", "orders_total"}) {
    EXPECT_EQ(complaint_of_name(good), "") << good;
  }
  for (const std::string_view bad : {"", "9a", "a-b", "a b", "a.b", "_total", "gr\xC3\xB6n", "a\n"}) {
    EXPECT_THAT(complaint_of_name(bad), HasSubstr("is not the name of a metric")) << bad;
  }
  EXPECT_THAT(complaint_of_name("peal_orders"), HasSubstr("inspector"));
  EXPECT_THAT(complaint_of_name("process_orders"), HasSubstr("inspector"));
  EXPECT_EQ(complaint_of_name(std::string(128, 'a')), "");
  EXPECT_NE(complaint_of_name(std::string(129, 'a')), "");
  EXPECT_NE(complaint_of([] { const TimeHistogram made("latency", "No unit."); }), "");
  EXPECT_NE(complaint_of([] { const ValueHistogram made("latency_seconds", "Times."); }), "");
  EXPECT_NE(complaint_of([] { const Counter made("a", std::string(1025, 'h')); }), "");
}

TEST(Metrics, labels_follow_the_rules_of_prometheus) {
  const auto complaint = [](const MetricLabels& labels) {
    return complaint_of([&] { const Counter made("labelled_total", "Labelled.", labels); });
  };
  EXPECT_EQ(complaint({{"a", ""}, {"_b9", "any \"text\"\n"}}), "");
  for (const std::string name : {"", "le", "__name__", "a:b", "9", "a-b"}) {
    EXPECT_THAT(complaint({{name, "x"}}), HasSubstr("cannot have a label")) << name;
  }
  EXPECT_THAT(complaint({{"a", "x"}, {"b", "y"}, {"a", "z"}}), HasSubstr("the label \"a\" twice"));
  MetricLabels many;
  for (int i = 0; i < 17; ++i) many.emplace_back("label" + std::to_string(i), "x");
  EXPECT_THAT(complaint(many), HasSubstr("17 labels"));
  EXPECT_FALSE(reading_of("labelled_total")) << "a constructor that throws leaves no metric";
}

TEST(Metrics, label_values_are_cut_and_made_utf8) {
  const Counter counter("texts_total", "Te\xFFxts.",
                        {{"a", "\xC3\xA9\x80z"}, {"b", std::string(127, 'x') + "\xC3\xA9"}});
  const auto seen = reading_of("texts_total", {{"a", "\xC3\xA9?z"}, {"b", std::string(127, 'x')}});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->help, "Te?xts.");
}

TEST(Metrics, counts_of_threads_that_have_ended_stay) {
  Counter counter("workers_total", "Workers.");
  TimeHistogram times("work_seconds", "Work.");
  for (int i = 0; i < 20; ++i) {
    std::jthread([&] {
      counter.add(5);
      times.record(milliseconds(3));
    }).join();
  }
  EXPECT_EQ(counter.value(), 100U);
  EXPECT_EQ(times.value().total_count(), 20U);
  EXPECT_NEAR(reading_of("work_seconds")->sum, 0.060, 1e-12);
}

TEST(Metrics, destructors_of_thread_locals_may_still_count) {
  struct CountsAtItsEnd {
    ~CountsAtItsEnd() {
      if (counter == nullptr) return;
      counter->add();
      times->record(milliseconds(1));
    }
    Counter* counter = nullptr;
    TimeHistogram* times = nullptr;
  };
  Counter counter("last_words_total", "Last words.");
  TimeHistogram times("last_words_seconds", "Last words.");
  std::jthread([&] {
    // It is made before the thread's first count. So it is destroyed after the thread's counts were moved.
    static thread_local CountsAtItsEnd last;
    last.counter = &counter;
    last.times = &times;
    counter.add();
    times.record(milliseconds(1));
  }).join();
  EXPECT_EQ(counter.value(), 2U);
  EXPECT_EQ(times.value().total_count(), 2U);
}

TEST(Metrics, threads_count_at_once_and_another_one_reads) {
  constexpr uint64_t kEach = 20'000;
  Counter counter("busy_total", "Busy.");
  Gauge gauge("busy_now", "Busy now.");
  ValueHistogram values("busy_items", "Items.");
  std::atomic<int> running = 4;
  std::deque<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < kEach; ++n) {
        counter.add();
        gauge.add(1);
        values.record(n % 1'000);
        gauge.add(-1);
      }
      --running;
    });
  }
  uint64_t last = 0;
  while (running > 0) {
    const uint64_t now = counter.value();
    EXPECT_GE(now, last);
    EXPECT_LE(now, 4 * kEach);
    EXPECT_LE(reading_of("busy_items")->histogram->total_count(), 4 * kEach);
    last = now;
  }
  threads.clear();
  EXPECT_EQ(counter.value(), 4 * kEach);
  EXPECT_EQ(gauge.value(), 0);
  EXPECT_EQ(values.value().total_count(), 4 * kEach);
  EXPECT_EQ(reading_of("busy_items")->sum, 4 * 20 * 999 * 500.0);
}

TEST(Metrics, metrics_come_and_go_while_a_thread_counts) {
  Counter lasting("lasting_total", "Lasting.");
  std::atomic<bool> done = false;
  uint64_t counted = 0;
  std::jthread counting([&] {
    while (!done) {
      lasting.add();
      ++counted;
    }
  });
  for (int i = 0; i < 300; ++i) {
    std::deque<Counter> some;
    for (int n = 0; n < 3; ++n) {
      some.emplace_back("passing_total", "Passing.", MetricLabels{{"n", std::to_string(n)}}).add(1);
      EXPECT_EQ(some.back().value(), 1U);
    }
  }
  done = true;
  counting.join();
  EXPECT_EQ(lasting.value(), counted);
}

TEST(Metrics, a_slot_that_is_used_again_begins_at_zero) {
  for (int i = 0; i < 3; ++i) {
    TimeHistogram times("again_seconds", "Again.");
    ValueHistogram values("again_items", "Again.");
    std::jthread([&] { times.record(milliseconds(2)); }).join();
    times.record(milliseconds(2));
    values.record(7);
    EXPECT_EQ(times.value().total_count(), 2U);
    EXPECT_EQ(values.value().total_count(), 1U);
    EXPECT_NEAR(reading_of("again_seconds")->sum, 0.004, 1e-12);
  }
}

TEST(Metrics, readings_are_sorted_by_name_and_labels) {
  const Counter b("sorted_b_total", "B.", {{"x", "2"}});
  const Counter a("sorted_b_total", "B.", {{"x", "1"}});
  const Gauge first("sorted_a", "A.");
  std::string order;
  for (const MetricReading& each : read_metrics().metrics) {
    if (!each.name.starts_with("sorted_")) continue;
    order += each.name + (each.labels.empty() ? "" : each.labels.front().second) + " ";
  }
  EXPECT_EQ(order, "sorted_a sorted_b_total1 sorted_b_total2 ");
}

class TooManyMetrics : public testing::Test {
 protected:
  TooManyMetrics() {
    set_log_sink([this](const LogRecord& record) { logged_ += std::string(record.text) + "\n"; });
  }
  ~TooManyMetrics() override { set_log_sink({}); }

  std::string logged_;
};

// One test, because only the first metric that is not shown is logged.
TEST_F(TooManyMetrics, are_counted_but_not_shown_and_the_first_is_logged) {
  std::deque<Counter> counters;
  while (read_metrics().metrics.size() < kMostMetrics) {
    counters.emplace_back("visits_total", "Visits.", MetricLabels{{"user", std::to_string(counters.size())}});
  }
  EXPECT_EQ(logged_, "");
  EXPECT_EQ(read_metrics().hidden, 0U);
  counters.front().add(7);

  Counter counter("late_total", "Late.");
  Gauge gauge("late_now", "Late.", {{"never", "shown"}});
  TimeHistogram times("late_seconds", "Late.");
  ValueHistogram values("late_items", "Late.");
  counter.add(5);
  gauge.set(5);
  times.record(milliseconds(5));
  values.record(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(counter.value(), 0U);
  EXPECT_EQ(gauge.value(), 0);
  EXPECT_TRUE(times.value().empty());
  EXPECT_TRUE(values.value().empty());
  EXPECT_EQ(read_metrics().metrics.size(), kMostMetrics);
  EXPECT_EQ(read_metrics().hidden, 4U);
  EXPECT_THAT(logged_, HasSubstr("the metric late_total is not shown"));
  EXPECT_EQ(std::ranges::count(logged_, '\n'), 1);

  // A name that exists is shown also if there is no room for another one.
  Counter same("visits_total", "Visits.", {{"user", "0"}});
  same.add(1);
  EXPECT_EQ(counters.front().value(), 8U);
  // There is room again when metrics have gone.
  counters.pop_back();
  Counter next("next_total", "Next.");
  next.add(2);
  EXPECT_EQ(next.value(), 2U);
}

// A child got the registry's mutex from a thread that it does not have, and hung at its first metric.
TEST(Metrics, a_child_of_fork_counts_on_whatever_other_threads_do) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer refuses a fork of several threads";
  Counter counter("forked_total", "Counted by a parent and its child.");
  counter.add(5);
  TimeHistogram times("forked_seconds", "Never recorded by the parent.");
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) static_cast<void>(read_metrics());
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      counter.add(2);
      times.record(milliseconds(1));
      const Counter made("made_in_child_total", "Made after the fork.");
      ::_exit(counter.value() == 7 && times.value().total_count() == 1 ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  reader.join();
  EXPECT_EQ(counter.value(), 5U);
}

TEST(Metrics, a_name_that_clashes_with_a_time_of_creation_is_refused) {
  const Counter counter("clash_total", "Counts.");
  EXPECT_THAT(complaint_of([] { const Gauge gauge("clash_created", "A value."); }), HasSubstr("\"clash_created\""));
}

}  // namespace
}  // namespace peal
