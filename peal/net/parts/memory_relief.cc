// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/memory_relief.h>

#include <algorithm>

#include <peal/base/memory/block_pool.h>
#include <peal/net/parts/connection_set.h>

namespace peal::detail {

static constexpr Duration kReliefInterval = std::chrono::milliseconds(20);
static constexpr Duration kReliefTimeout = std::chrono::seconds(5);

MemoryRelief& MemoryRelief::of_this_thread() {
  static thread_local MemoryRelief relief;
  return relief;
}

void MemoryRelief::join(ConnectionSet& set) {
  if (sets_.empty()) BlockPool::here().set_listener(this);
  sets_.push_back(&set);
}

void MemoryRelief::leave(ConnectionSet& set) {
  std::erase(sets_, &set);
  if (sets_.empty()) BlockPool::here().set_listener(nullptr);
}

void MemoryRelief::on_memory_short() {
  const Mailbox::AllOfThread all;
  grown_ = true;
  if (pending_.expired()) schedule_relief(Duration::zero());
}

void MemoryRelief::schedule_relief(Duration delay) {
  if (sets_.empty()) return;
  auto pending = std::make_shared<char>();
  pending_ = pending;
  sets_.front()->loop().after(delay, [this, pending = std::move(pending)]() mutable {
    pending.reset();
    relieve();
  });
}

void MemoryRelief::relieve() {
  const Mailbox::AllOfThread all;
  BlockPool::here().trim();
  if (MemoryBudget::below_low() || sets_.empty()) return resume_all();
  const TimePoint now = sets_.front()->loop().now();
  if (relief_deadline_ == kNever) relief_deadline_ = now + kReliefTimeout;
  const uint64_t held = MemoryBudget::held_bytes();
  const MemoryMarks marks = MemoryBudget::marks();
  const bool overdue = now >= relief_deadline_;
  if (overdue && held <= marks.soft_bytes) return resume_all();
  if (overdue) relief_deadline_ = now + kReliefTimeout;
  if (grown_ || overdue || held > marks.hard_bytes) {
    std::vector<Holder> found = holders();
    end_largest(found, held > marks.hard_bytes ? held - marks.hard_bytes : overdue ? 1 : 0);
    if (held > marks.soft_bytes) pause(found);
  }
  grown_ = false;
  schedule_relief(kReliefInterval);
}

std::vector<MemoryRelief::Holder> MemoryRelief::holders() const {
  std::vector<Holder> found;
  for (ConnectionSet* set : sets_) {
    set->each([&found](Connection& connection) {
      if (const size_t bytes = ConnectionSet::memory_bytes(connection); bytes > 0)
        found.push_back({bytes, &connection});
    });
  }
  return found;
}

// Ends the connections that hold the most memory, as many as are needed to free `bytes`. Removes these connections from
// `holders`.
void MemoryRelief::end_largest(std::vector<Holder>& holders, uint64_t bytes) {
  while (bytes > 0 && !holders.empty()) {
    auto largest = std::ranges::max_element(holders, {}, &Holder::bytes);
    bytes -= std::min<uint64_t>(bytes, largest->bytes);
    ConnectionSet::end_over_budget(*largest->connection);
    holders.erase(largest);
  }
}

void MemoryRelief::pause(const std::vector<Holder>& holders) {
  for (const Holder& holder : holders) ConnectionSet::pause_for_budget(*holder.connection);
}

void MemoryRelief::resume_all() {
  relief_deadline_ = kNever;
  for (ConnectionSet* set : sets_) set->each(ConnectionSet::resume_after_budget);
}

}  // namespace peal::detail
