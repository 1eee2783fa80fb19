// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/statistics.h>

#include <array>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace peal::models {
namespace {

struct Counter {
  uint64_t Tally::* field;
  const char* words;
};
constexpr std::array kCounters = {
    Counter{&Tally::accepted, "accepted"},
    Counter{&Tally::ended, "ended"},
    Counter{&Tally::requests, "requests"},
    Counter{&Tally::too_large, "closed for a frame that was too large"},
    Counter{&Tally::timed_out, "closed for being too slow"},
    Counter{&Tally::refused, "refused"},
    Counter{&Tally::waited, "had to wait for a coroutine"},
    Counter{&Tally::overflows, "overflows of the signal queue"},
    Counter{&Tally::respawned, "processes replaced"},
};
constexpr size_t kShownAlways = 3;

}  // namespace

struct Statistics::Shared {
  std::array<std::atomic<uint64_t>, kCounters.size()> counts{};
};

Result<Statistics> Statistics::make() {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(errno);
  return Statistics(new (memory) Shared);
}

Statistics::~Statistics() {
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

void Statistics::add(Tally& tally) {
  for (size_t i = 0; i < kCounters.size(); ++i) {
    const uint64_t count = std::exchange(tally.*kCounters[i].field, 0);
    if (count > 0) shared_->counts[i].fetch_add(count, std::memory_order_relaxed);
  }
}

Tally Statistics::sum() const {
  Tally tally;
  for (size_t i = 0; i < kCounters.size(); ++i) tally.*kCounters[i].field = shared_->counts[i].load();
  return tally;
}

std::string Statistics::to_string() const {
  const Tally tally = sum();
  std::string text = fmt::format("accepted {} connections, served {} to their end, answered {} requests",
                                 tally.accepted, tally.ended, tally.requests);
  for (size_t i = kShownAlways; i < kCounters.size(); ++i) {
    const uint64_t count = tally.*kCounters[i].field;
    if (count > 0) text += fmt::format("; {} {}", count, kCounters[i].words);
  }
  return text;
}

}  // namespace peal::models
