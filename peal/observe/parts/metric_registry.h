// SPDX-License-Identifier: BSD-3-Clause
// MetricRegistry: the metrics of the process, and the memory in which each thread counts. There is one registry. It is
// never destroyed, because static objects and ending threads may use it until the end of the process.
//
// The memory of a thread is a MetricShard. Its thread alone writes the cells, without a lock, and makes the arrays
// larger, under the mutex. Other threads read the cells under the mutex. When a thread ends, its counts move to a shard
// that belongs to no thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/mutex.h>
#include <peal/observe/metrics.h>

namespace peal::detail {

// One metric: a name with one set of labels.
struct MetricSeries {
  uint32_t slot = 0;
  size_t objects = 0;                         // that have this name and these labels
  alignas(64) std::atomic<double> gauge = 0;  // on a cache line of its own, because several threads may write it
};

// All metrics of one name.
struct MetricFamily {
  std::string name;  // without a counter's "_total"
  std::string help;
  MetricForm form = MetricForm::kCounter;
  std::map<MetricLabels, std::unique_ptr<MetricSeries>> series;
  size_t objects = 0;  // of all series, and those that are not shown
};

class MetricShard {
 public:
  // count_at() returns the cell of a counter, histogram_at() the cells of a histogram. Both make room for them if there
  // is none yet; then the thread must use cells() anew.
  MetricCell& count_at(uint32_t slot);
  MetricCell* histogram_at(uint32_t slot, const Histogram& layout);
  MetricCells cells();

  uint64_t read_count(uint32_t slot) const;
  // Adds the counts of a histogram to `histogram`, which has the same buckets, and the sum of its values to `sum`.
  void read_histogram(uint32_t slot, Histogram& histogram, uint64_t& sum) const;

  // Sets the cells of a slot to 0.
  void clear(uint32_t slot);
  // Adds all counts to those of `to`, whose cells no other thread may write.
  void add_to(MetricShard& to) const;

 private:
  struct Cells {
    std::unique_ptr<MetricCell[]> cells;
    size_t size = 0;
  };
  MetricCell* room_at(uint32_t slot, size_t size);

  Cells counts_;                         // by slot
  std::vector<Cells> histogram_cells_;   // by slot
  std::vector<MetricCell*> histograms_;  // what histogram_cells_ points to
};

class MetricRegistry {
 public:
  static MetricRegistry& get();

  struct Entry {
    MetricFamily* family = nullptr;
    MetricSeries* series = nullptr;  // null if there are kMostMetrics already
  };
  // Throws std::invalid_argument as the constructors of metrics do.
  Entry add(MetricForm form, std::string_view name, std::string_view help, MetricLabels labels) PEAL_EXCLUDES(mutex_);
  void remove(const Entry& entry) PEAL_EXCLUDES(mutex_);

  // add_count() and add_value() count for a thread that has no cell of this slot yet, or that is ending.
  void add_count(uint32_t slot, uint64_t count) PEAL_EXCLUDES(mutex_);
  void add_value(uint32_t slot, int64_t value, const Histogram& layout) PEAL_EXCLUDES(mutex_);

  uint64_t count_of(const MetricSeries& series) PEAL_EXCLUDES(mutex_);
  Histogram histogram_of(const MetricSeries& series, const Histogram& layout) PEAL_EXCLUDES(mutex_);
  MetricReadings read() PEAL_EXCLUDES(mutex_);

  // Returns an empty histogram with the buckets of this form.
  const Histogram& layout_of(MetricForm form) const { return form == MetricForm::kTimes ? times_ : values_; }
  // Metrics that are not shown share a slot and a gauge, whose counts nobody reads.
  static uint32_t hidden_slot(MetricForm form) { return form == MetricForm::kTimes ? 1 : 0; }
  std::atomic<double>& hidden_gauge() { return hidden_gauge_; }

 private:
  class ThreadShard;

  MetricRegistry() = default;
  void lock_for_fork() PEAL_NO_THREAD_SAFETY_ANALYSIS;
  void unlock_in_parent() PEAL_NO_THREAD_SAFETY_ANALYSIS;
  void unlock_in_child() PEAL_NO_THREAD_SAFETY_ANALYSIS;
  // Returns the shard of the calling thread, or the shard of ended threads if the calling thread is ending.
  MetricShard& shard_here() PEAL_REQUIRES(mutex_);
  void end_thread(const MetricShard& shard) PEAL_EXCLUDES(mutex_);
  MetricFamily& family_of(MetricForm form, std::string name, std::string help) PEAL_REQUIRES(mutex_);
  MetricSeries* series_of(MetricFamily& family, MetricLabels labels) PEAL_REQUIRES(mutex_);
  uint32_t new_slot(MetricForm form) PEAL_REQUIRES(mutex_);
  uint64_t total_of(uint32_t slot) const PEAL_REQUIRES(mutex_);
  Histogram read_histogram(uint32_t slot, const Histogram& layout, uint64_t& sum) const PEAL_REQUIRES(mutex_);

  const Histogram times_{{.lowest = 1'000, .highest = 3'600'000'000'000, .significant_digits = 2}};
  const Histogram values_{{.lowest = 1, .highest = int64_t{1} << 40, .significant_digits = 2}};
  std::atomic<double> hidden_gauge_ = 0;

  Mutex mutex_;
  std::map<std::string, MetricFamily, std::less<>> families_ PEAL_GUARDED_BY(mutex_);
  std::vector<MetricShard*> shards_ PEAL_GUARDED_BY(mutex_);  // of threads that have not ended
  MetricShard ended_ PEAL_GUARDED_BY(mutex_);                 // of all threads that have
  // The slots of removed metrics. A slot keeps its form, because threads keep its cells.
  std::array<std::vector<uint32_t>, 4> free_slots_ PEAL_GUARDED_BY(mutex_);
  uint32_t next_slot_ PEAL_GUARDED_BY(mutex_) = 2;  // the first two are hidden_slot()
  size_t shown_ PEAL_GUARDED_BY(mutex_) = 0;        // metrics
  size_t hidden_ PEAL_GUARDED_BY(mutex_) = 0;       // objects
  bool has_warned_ PEAL_GUARDED_BY(mutex_) = false;
};

}  // namespace peal::detail
