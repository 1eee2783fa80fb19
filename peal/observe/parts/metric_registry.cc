// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/parts/metric_registry.h>

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <utility>

#include <peal/base/bad_value.h>
#include <peal/base/log.h>
#include <peal/observe/parts/metric_names.h>

namespace peal::detail {
namespace {

// Cells at both ends of an array that are not used. So the arrays of two threads share no cache line.
constexpr size_t kPadding = 64 / sizeof(MetricCell);
constexpr size_t kFirstCounts = 64;

// True from the end of a thread's shard on. Destructors of thread_local and static objects may still count then.
constinit thread_local bool thread_is_ending = false;

uint64_t relaxed(const MetricCell& cell) { return cell.load(std::memory_order_relaxed); }

std::unique_ptr<MetricCell[]> padded_cells(size_t size) { return std::make_unique<MetricCell[]>(size + 2 * kPadding); }

double seconds_or_units(MetricForm form, uint64_t sum) {
  return static_cast<double>(sum) * (form == MetricForm::kTimes ? 1e-9 : 1);
}

MetricKind kind_of(MetricForm form) {
  switch (form) {
    case MetricForm::kCounter: return MetricKind::kCounter;
    case MetricForm::kGauge: return MetricKind::kGauge;
    case MetricForm::kTimes:
    case MetricForm::kValues: return MetricKind::kHistogram;
  }
  return MetricKind::kCounter;
}

std::string_view form_name(MetricForm form) {
  switch (form) {
    case MetricForm::kCounter: return "Counter";
    case MetricForm::kGauge: return "Gauge";
    case MetricForm::kTimes: return "TimeHistogram";
    case MetricForm::kValues: return "ValueHistogram";
  }
  return "?";
}

}  // namespace

MetricCell& MetricShard::count_at(uint32_t slot) {
  if (slot >= counts_.size) {
    const size_t size = std::max(kFirstCounts, std::bit_ceil(size_t{slot} + 1));
    auto cells = padded_cells(size);
    for (size_t i = 0; i < counts_.size; ++i) add_to_cell(cells[kPadding + i], relaxed(counts_.cells[kPadding + i]));
    counts_ = {.cells = std::move(cells), .size = size};
  }
  return counts_.cells[kPadding + slot];
}

MetricCell* MetricShard::histogram_at(uint32_t slot, const Histogram& layout) {
  return room_at(slot, 1 + layout.counts().size());
}

MetricCell* MetricShard::room_at(uint32_t slot, size_t size) {
  if (slot >= histograms_.size()) {
    const size_t slots = std::bit_ceil(size_t{slot} + 1);
    histogram_cells_.resize(slots);
    histograms_.resize(slots);
  }
  if (histograms_[slot] == nullptr) {
    histogram_cells_[slot] = {.cells = padded_cells(size), .size = size};
    histograms_[slot] = &histogram_cells_[slot].cells[kPadding];
  }
  return histograms_[slot];
}

MetricCells MetricShard::cells() {
  return {.counts = counts_.size == 0 ? nullptr : &counts_.cells[kPadding],
          .histograms = histograms_.data(),
          .counts_size = static_cast<uint32_t>(counts_.size),
          .histograms_size = static_cast<uint32_t>(histograms_.size())};
}

uint64_t MetricShard::read_count(uint32_t slot) const {
  return slot < counts_.size ? relaxed(counts_.cells[kPadding + slot]) : 0;
}

void MetricShard::read_histogram(uint32_t slot, Histogram& histogram, uint64_t& sum) const {
  if (slot >= histograms_.size() || histograms_[slot] == nullptr) return;
  const MetricCell* cells = histograms_[slot];
  sum += relaxed(cells[0]);
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    if (const uint64_t count = relaxed(cells[1 + i]); count > 0) histogram.add_at(i, count);
  }
}

void MetricShard::clear(uint32_t slot) {
  if (slot < counts_.size) counts_.cells[kPadding + slot].store(0, std::memory_order_relaxed);
  if (slot >= histograms_.size() || histograms_[slot] == nullptr) return;
  for (size_t i = 0; i < histogram_cells_[slot].size; ++i) histograms_[slot][i].store(0, std::memory_order_relaxed);
}

void MetricShard::add_to(MetricShard& to) const {
  for (uint32_t slot = 0; slot < counts_.size; ++slot) {
    if (const uint64_t count = read_count(slot); count > 0) add_to_cell(to.count_at(slot), count);
  }
  for (uint32_t slot = 0; slot < histograms_.size(); ++slot) {
    if (histograms_[slot] == nullptr) continue;
    const size_t size = histogram_cells_[slot].size;
    MetricCell* cells = to.room_at(slot, size);
    for (size_t i = 0; i < size; ++i) add_to_cell(cells[i], relaxed(histograms_[slot][i]));
  }
}

// The shard of one thread. It is on the heap: after fork(2), the threads of the parent are gone, and the memory of
// their thread_local objects is used again.
class MetricRegistry::ThreadShard {
 public:
  ThreadShard() = default;
  ~ThreadShard() {
    metric_cells = {};
    thread_is_ending = true;
    get().end_thread(*shard_);
  }
  ThreadShard(const ThreadShard&) = delete;
  ThreadShard& operator=(const ThreadShard&) = delete;

  MetricShard& shard() { return *shard_; }
  bool is_new() { return std::exchange(new_, false); }

 private:
  const std::unique_ptr<MetricShard> shard_ = std::make_unique<MetricShard>();
  bool new_ = true;
};

MetricRegistry& MetricRegistry::get() {
  static auto& registry = *new MetricRegistry;
  // The mutex is held during a fork(2), so that the child does not get it from a thread that the child does not have.
  [[maybe_unused]] static const int registered = ::pthread_atfork(
      [] { get().lock_for_fork(); }, [] { get().unlock_in_parent(); }, [] { get().unlock_in_child(); });
  return registry;
}

void MetricRegistry::lock_for_fork() { mutex_.lock(); }
void MetricRegistry::unlock_in_parent() { mutex_.unlock(); }
void MetricRegistry::unlock_in_child() { mutex_.unlock_in_child(); }

MetricShard& MetricRegistry::shard_here() {
  if (thread_is_ending) return ended_;
  static thread_local ThreadShard mine;
  if (mine.is_new()) shards_.push_back(&mine.shard());
  return mine.shard();
}

void MetricRegistry::end_thread(const MetricShard& shard) {
  MutexLock lock(mutex_);
  shard.add_to(ended_);
  std::erase(shards_, &shard);
}

MetricRegistry::Entry MetricRegistry::add(MetricForm form, std::string_view name, std::string_view help,
                                          MetricLabels labels) {
  std::string family_name = checked_metric_name(form, name);
  labels = checked_metric_labels(name, std::move(labels));
  std::string shown_help = checked_metric_help(name, help);
  Entry entry;
  bool warns = false;
  {
    MutexLock lock(mutex_);
    entry.family = &family_of(form, std::move(family_name), std::move(shown_help));
    ++entry.family->objects;
    entry.series = series_of(*entry.family, std::move(labels));
    if (entry.series == nullptr) {
      ++hidden_;
      warns = !std::exchange(has_warned_, true);
    }
  }
  if (warns) {
    PEAL_LOG_WARN(
        "the metric {} is not shown, nor are those declared after it: the process has {} metrics. Are labels made of "
        "what users send?",
        name, kMostMetrics);
  }
  return entry;
}

// Returns the family of this name, and makes it if there is none. Throws std::invalid_argument if the name is taken.
MetricFamily& MetricRegistry::family_of(MetricForm form, std::string name, std::string help) {
  if (const auto found = families_.find(name); found != families_.end()) {
    MetricFamily& family = found->second;
    if (family.form != form) {
      throw_bad_value("the metric \"{}\" is a {} already, and cannot be a {} too", name, form_name(family.form),
                      form_name(form));
    }
    if (family.help != help) {
      throw_bad_value("the metric \"{}\" cannot have two help texts: \"{}\" and \"{}\"", name, family.help, help);
    }
    return family;
  }
  for (const std::string& sample : sample_names(form, name)) {
    for (const std::string_view suffix : kSampleSuffixes) {
      if (!sample.ends_with(suffix)) continue;
      const auto other = families_.find(std::string_view(sample).substr(0, sample.size() - suffix.size()));
      if (other == families_.end()) continue;
      const auto taken = sample_names(other->second.form, other->first);
      if (std::ranges::find(taken, sample) == taken.end()) continue;
      throw_bad_value("the metric \"{}\" needs another name: the {} \"{}\" has samples of the name \"{}\"", name,
                      form_name(other->second.form), other->first, sample);
    }
  }
  MetricFamily& family = families_[name];
  family.name = std::move(name);
  family.help = std::move(help);
  family.form = form;
  return family;
}

// Returns the metric of these labels, and makes it if there is none. Returns null if there are kMostMetrics already.
MetricSeries* MetricRegistry::series_of(MetricFamily& family, MetricLabels labels) {
  if (const auto found = family.series.find(labels); found != family.series.end()) {
    ++found->second->objects;
    return found->second.get();
  }
  if (shown_ >= kMostMetrics) return nullptr;
  auto series = std::make_unique<MetricSeries>();
  series->slot = new_slot(family.form);
  series->objects = 1;
  ++shown_;
  return family.series.emplace(std::move(labels), std::move(series)).first->second.get();
}

uint32_t MetricRegistry::new_slot(MetricForm form) {
  std::vector<uint32_t>& free = free_slots_.at(static_cast<size_t>(form));
  if (free.empty()) return next_slot_++;
  const uint32_t slot = free.back();
  free.pop_back();
  return slot;
}

void MetricRegistry::remove(const Entry& entry) {
  MutexLock lock(mutex_);
  MetricFamily& family = *entry.family;
  if (entry.series == nullptr) {
    --hidden_;
  } else if (--entry.series->objects == 0) {
    const uint32_t slot = entry.series->slot;
    for (MetricShard* shard : shards_) shard->clear(slot);
    ended_.clear(slot);
    free_slots_.at(static_cast<size_t>(family.form)).push_back(slot);
    std::erase_if(family.series, [&](const auto& each) { return each.second.get() == entry.series; });
    --shown_;
  }
  if (--family.objects == 0) families_.erase(families_.find(family.name));
}

void MetricRegistry::add_count(uint32_t slot, uint64_t count) {
  MutexLock lock(mutex_);
  MetricShard& shard = shard_here();
  add_to_cell(shard.count_at(slot), count);
  if (!thread_is_ending) metric_cells = shard.cells();
}

void MetricRegistry::add_value(uint32_t slot, int64_t value, const Histogram& layout) {
  MutexLock lock(mutex_);
  MetricShard& shard = shard_here();
  MetricCell* cells = shard.histogram_at(slot, layout);
  add_to_cell(cells[0], static_cast<uint64_t>(value));
  add_to_cell(cells[1 + layout.index_of(value)], 1);
  if (!thread_is_ending) metric_cells = shard.cells();
}

uint64_t MetricRegistry::total_of(uint32_t slot) const {
  uint64_t total = ended_.read_count(slot);
  for (const MetricShard* shard : shards_) total += shard->read_count(slot);
  return total;
}

Histogram MetricRegistry::read_histogram(uint32_t slot, const Histogram& layout, uint64_t& sum) const {
  Histogram histogram(layout.options());
  ended_.read_histogram(slot, histogram, sum);
  for (const MetricShard* shard : shards_) shard->read_histogram(slot, histogram, sum);
  return histogram;
}

uint64_t MetricRegistry::count_of(const MetricSeries& series) {
  MutexLock lock(mutex_);
  return total_of(series.slot);
}

Histogram MetricRegistry::histogram_of(const MetricSeries& series, const Histogram& layout) {
  MutexLock lock(mutex_);
  uint64_t sum = 0;
  return read_histogram(series.slot, layout, sum);
}

MetricReadings MetricRegistry::read() {
  MutexLock lock(mutex_);
  MetricReadings readings{.metrics = {}, .hidden = hidden_};
  readings.metrics.reserve(shown_);
  for (const auto& [name, family] : families_) {
    for (const auto& [labels, series] : family.series) {
      MetricReading& reading = readings.metrics.emplace_back();
      reading.name = family.form == MetricForm::kCounter ? name + "_total" : name;
      reading.help = family.help;
      reading.unit = unit_of_metric(name);
      reading.kind = kind_of(family.form);
      reading.labels = labels;
      if (reading.kind == MetricKind::kHistogram) {
        uint64_t sum = 0;
        reading.histogram = read_histogram(series->slot, layout_of(family.form), sum);
        reading.sum = seconds_or_units(family.form, sum);
      } else if (reading.kind == MetricKind::kGauge) {
        reading.value = series->gauge.load(std::memory_order_relaxed);
      } else {
        reading.count = total_of(series->slot);
      }
    }
  }
  return readings;
}

}  // namespace peal::detail
