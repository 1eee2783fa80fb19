// SPDX-License-Identifier: BSD-3-Clause
// Metrics of a program: counters, gauges and histograms that its own code changes. One line declares a metric, and the
// inspector shows it on its page, in /json, in /history and in /metrics.
//
//   static peal::Counter orders("orders_total", "Orders accepted.");
//   static peal::Counter refused("refused_orders_total", "Orders refused.", {{"reason", "closed"}});
//
//   static peal::Gauge waiting("waiting_orders", "Orders that wait for their answer.");
//   static peal::TimeHistogram latency("order_seconds", "Time from an order to its answer.");
//   static peal::ValueHistogram size("order_bytes", "Size of an order.");
//
//   orders.add();
//   waiting.set(12);
//   latency.record(loop.now() - began);
//
// A metric may also be a member or a local variable. It is shown from its construction to its destruction. Objects with
// the same name and the same labels are one metric: their counts are added, and the last one to be destroyed ends it.
//
// Threads: every function may be called on any thread. Constructors, destructors, value() and read_metrics() take a
// lock. add(), set() and record() take none, except that a thread's first use of a metric takes the lock and allocates.
// Each thread counts in memory of its own, so that loops do not share a cache line. The counts of a thread that has
// ended stay. A Gauge is the exception: it is one value, which its threads share. After fork(2), the child has the
// counts that the parent had.
//
// Cost: Counter::add() executes 8 user instructions, Gauge::set() 2 and TimeHistogram::record() 40. This is measured by
// `/usr/bin/python3 -m versus bench --only metrics`. Each thread takes 8 bytes for each counter, and 27 to 34 KiB for
// each histogram in which it records.
//
// Names follow the rules of Prometheus. A constructor throws std::invalid_argument for each of these:
//   - The name does not match [a-zA-Z_:][a-zA-Z0-9_:]*, or has more than 128 bytes.
//   - The name begins with "peal_" or "process_", which the inspector uses.
//   - The name of a label does not match [a-zA-Z_][a-zA-Z0-9_]*, begins with "__", is "le", or is there twice.
//   - There are more than 16 labels, or the help text has more than 1,024 bytes.
//   - A metric with this name has another kind or another help text.
//   - A metric with another name writes samples of this name. Example: the histogram "x" writes "x_sum".
// The end of the name is the unit: "_seconds" or "_bytes", before a counter's "_total". A counter's name gets its
// "_total" if it has none. An exception of a static metric ends the program at its start, with the reason on stderr.
//
// A process has at most kMostMetrics metrics: each set of labels is one. Further metrics can be used like others, but
// are not shown, and value() returns 0. The first of them is logged as a warning, and the inspector warns of them. So
// do not make labels of what users send, such as a path or a name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/base/clock.h>
#include <peal/observe/histogram.h>

namespace peal {

// The labels of a metric, each with its name and its value: {{"kind", "new"}, {"shop", "berlin"}}. Their order does not
// matter. Of a value of more than 128 bytes, only the first 128 are kept. Bytes that are not UTF-8 become "?".
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// The most metrics that a process can show.
inline constexpr size_t kMostMetrics = 1'000;

namespace detail {

struct MetricFamily;
struct MetricSeries;

using MetricCell = std::atomic<uint64_t>;

// Where the calling thread counts. A slot is the place of a metric in these arrays.
struct MetricCells {
  MetricCell* counts = nullptr;       // of counters
  MetricCell** histograms = nullptr;  // of histograms: the sum of all values, then the count of each bucket
  uint32_t counts_size = 0;
  uint32_t histograms_size = 0;
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local MetricCells metric_cells;

// Adds to a cell that only this thread writes. Other threads may read it.
inline void add_to_cell(MetricCell& cell, uint64_t count) {
  cell.store(cell.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
}

// What a metric counts. It decides the type of the samples, and the buckets of a histogram.
enum class MetricForm : uint8_t { kCounter, kGauge, kTimes, kValues };

// Registers a metric, and removes it when the object is destroyed.
class MetricSlot {
 public:
  MetricSlot(MetricForm form, std::string_view name, std::string_view help, MetricLabels labels);
  ~MetricSlot();
  MetricSlot(const MetricSlot&) = delete;
  MetricSlot& operator=(const MetricSlot&) = delete;

  uint32_t number() const { return number_; }
  // Returns null if the metric is not shown.
  MetricSeries* series() const { return series_; }

 private:
  MetricFamily* family_ = nullptr;
  MetricSeries* series_ = nullptr;
  uint32_t number_ = 0;
};

}  // namespace detail

// Counts events, or other things of which there are never fewer: "orders_total", "read_bytes_total".
class Counter {
 public:
  explicit Counter(std::string_view name, std::string_view help, MetricLabels labels = {})
      : slot_(detail::MetricForm::kCounter, name, help, std::move(labels)) {}

  // Adds `count`. The total of all threads wraps at 2^64.
  void add(uint64_t count = 1) {
    const detail::MetricCells& here = detail::metric_cells;
    const uint32_t number = slot_.number();
    if (number >= here.counts_size) [[unlikely]]
      return add_first(count);
    detail::add_to_cell(here.counts[number], count);
  }

  // Returns the total of all threads.
  uint64_t value() const;

 private:
  // Does what add() does, on a thread that has no cell for this counter yet.
  void add_first(uint64_t count);

  detail::MetricSlot slot_;
};

// A value that goes up and down: "orders_waiting", "queue_bytes". It is a floating point number. A set() and an add()
// of other threads change the same value. So threads that often change one Gauge wait for each other's cache line.
class Gauge {
 public:
  explicit Gauge(std::string_view name, std::string_view help, MetricLabels labels = {});

  void set(double value) { value_->store(value, std::memory_order_relaxed); }
  // Adds `change`, which may be negative. No change of another thread is lost.
  void add(double change) { value_->fetch_add(change, std::memory_order_relaxed); }
  // Returns the value: 0 before the first set() and add().
  double value() const;

 private:
  detail::MetricSlot slot_;
  std::atomic<double>* value_;
};

namespace detail {

// The common part of the histograms of this header: see TimeHistogram and ValueHistogram.
class MetricHistogram {
 public:
  // Returns all values of all threads, in ns or in the unit of the values.
  Histogram value() const;

 protected:
  MetricHistogram(MetricForm form, std::string_view name, std::string_view help, MetricLabels labels);

  void count(int64_t value) {
    const int64_t highest = layout_.options().highest;
    if (static_cast<uint64_t>(value) > static_cast<uint64_t>(highest)) [[unlikely]]
      value = value < 0 ? 0 : highest;
    const MetricCells& here = metric_cells;
    const uint32_t number = slot_.number();
    MetricCell* cells = number < here.histograms_size ? here.histograms[number] : nullptr;
    if (cells == nullptr) [[unlikely]]
      return count_first(value);
    add_to_cell(cells[0], static_cast<uint64_t>(value));
    add_to_cell(cells[1 + layout_.index_of(value)], 1);
  }

 private:
  void count_first(int64_t value);

  MetricSlot slot_;
  const Histogram& layout_;  // empty: only its buckets matter
};

}  // namespace detail

// How long something took, to two digits: 1 us to 1 h. The name must end with "_seconds"; else the constructor throws
// std::invalid_argument. A shorter time counts as less than 1 us, a negative one as 0, and a longer one as 1 h.
class TimeHistogram : public detail::MetricHistogram {
 public:
  explicit TimeHistogram(std::string_view name, std::string_view help, MetricLabels labels = {})
      : MetricHistogram(detail::MetricForm::kTimes, name, help, std::move(labels)) {}

  void record(Duration time) { count(time.count()); }
};

// How large something was, to two digits: 0 to 2^40. The unit is bytes if the name ends with "_bytes". The name must
// not end with "_seconds"; else the constructor throws std::invalid_argument. A larger value counts as 2^40.
class ValueHistogram : public detail::MetricHistogram {
 public:
  explicit ValueHistogram(std::string_view name, std::string_view help, MetricLabels labels = {})
      : MetricHistogram(detail::MetricForm::kValues, name, help, std::move(labels)) {}

  void record(uint64_t value) { count(value > INT64_MAX ? INT64_MAX : static_cast<int64_t>(value)); }
};

// A metric and its figures at one moment.
struct MetricReading {
  std::string name = {};  // ends with "_total" if it is a counter
  std::string help = {};
  std::string_view unit = {};  // "seconds", "bytes" or ""
  MetricKind kind = MetricKind::kCounter;
  MetricLabels labels = {};                 // sorted by name
  uint64_t count = 0;                       // of a counter
  double value = 0;                         // of a gauge
  std::optional<Histogram> histogram = {};  // of a histogram: times in ns
  double sum = 0;                           // of all values of the histogram, in `unit`
};

struct MetricReadings {
  std::vector<MetricReading> metrics = {};  // sorted by name, then by labels
  size_t hidden = 0;                        // objects whose metric is not shown, because there are kMostMetrics already
};

// Reads all metrics of the process. Figures that other threads change meanwhile may be those from before or after the
// change. Any thread. Takes about 1 us for each histogram and thread.
MetricReadings read_metrics();

}  // namespace peal
