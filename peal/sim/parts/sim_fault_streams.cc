// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sim/parts/sim_fault_streams.h>

#include <chrono>

#include <fmt/format.h>

#include <peal/sim/parts/sim_hosts.h>

namespace peal {
namespace {

struct Trait {
  std::string_view name;
  double SimOptions::* chance;
  uint64_t SimStats::* count;
};

constexpr std::array<Trait, kSimFaultKinds> kTraits{{
    {"short read", &SimOptions::short_read, &SimStats::short_reads},
    {"short write", &SimOptions::short_write, &SimStats::short_writes},
    {"EINTR", &SimOptions::interrupted, &SimStats::interrupted},
    {"EAGAIN", &SimOptions::again, &SimStats::again},
    {"late completion", &SimOptions::late, &SimStats::late},
    {"reset", &SimOptions::reset, &SimStats::resets},
    {"vanished connection", &SimOptions::vanish, &SimStats::vanished},
    {"refused connect", &SimOptions::refuse, &SimStats::connects_failed},
    {"unreachable host", &SimOptions::unreachable, &SimStats::connects_failed},
    {"swallowed connect", &SimOptions::swallow, &SimStats::connects_failed},
    {"no fd", &SimOptions::no_fd, &SimStats::no_fd},
    {"lost datagram", &SimOptions::lose_datagram, &SimStats::datagrams_lost},
    {"doubled datagram", &SimOptions::double_datagram, &SimStats::datagrams_doubled},
    {"overtaken datagram", &SimOptions::overtaken_datagram, &SimStats::datagrams_overtaken},
    {"disk error", &SimOptions::disk_error, &SimStats::disk_errors},
    {"loss of unsynced bytes", &SimOptions::lose_unsynced, &SimStats::unsynced_lost},
    {"torn write", &SimOptions::tear_unsynced, &SimStats::unsynced_torn},
}};

const Trait& trait_of(SimFaultKind kind) { return kTraits.at(static_cast<size_t>(kind)); }

bool same_place(const SimFault& one, const SimFault& other) {
  return detail::ip_bytes(one.from) == detail::ip_bytes(other.from) &&
         detail::ip_bytes(one.to) == detail::ip_bytes(other.to) && one.file == other.file;
}

}  // namespace

std::string_view sim_fault_name(SimFaultKind kind) { return trait_of(kind).name; }

std::string SimFault::text() const {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(at).count();
  std::string where = to.to_string();
  if (!file.empty()) where = fmt::format("{} on {}", file, where.substr(0, where.rfind(':')));
  if (from.is_set()) where = fmt::format("{} -> {}", from.to_string(), where);
  return fmt::format("{} of {} at {:02}:{:02}.{:06}", sim_fault_name(kind), where, us / 60'000'000, us / 1'000'000 % 60,
                     us % 1'000'000);
}

namespace detail {

std::list<SimFault>::iterator SimFaultPlan::planned_for(const SimFault& chance) {
  auto& waiting = waiting_.at(static_cast<size_t>(chance.kind));
  for (auto planned = waiting.begin(); planned != waiting.end(); ++planned) {
    if (planned->nth == chance.nth || (planned->at < chance.at && same_place(*planned, chance))) return planned;
    if (planned->nth > chance.nth && planned->at >= chance.at) break;  // the following faults are later too
  }
  return waiting.end();
}

void SimFaultPlan::record(const SimFault& fault) {
  if (decides_) waiting_.at(static_cast<size_t>(fault.kind)).erase(planned_for(fault));
  struck.push_back(fault);
}

bool SimFaultStreams::draw(SimFault& chance, const SimOptions& options) {
  const double probability = options.*trait_of(chance.kind).chance;
  if (!(probability > 0)) return false;
  constexpr uint64_t kResolution = 1 << 24;
  Stream& stream = streams_.at(static_cast<size_t>(chance.kind));
  chance.nth = stream.chances++;
  const uint64_t own_seed = split_mix(seed_ + (static_cast<uint64_t>(chance.kind) + 1) * kSplitMixStep);
  stream.state = split_mix(own_seed + chance.nth * kSplitMixStep);
  if (plan_ != nullptr && plan_->decides()) return plan_->wants(chance);
  return static_cast<double>(stream.state % kResolution) < probability * kResolution;
}

void SimFaultStreams::record(SimStats& stats, const SimFault& fault) {
  if (plan_ != nullptr) plan_->record(fault);
  ++(stats.*trait_of(fault.kind).count);
}

uint64_t SimFaultStreams::random_for(SimFaultKind kind, uint64_t bound) {
  uint64_t& state = streams_.at(static_cast<size_t>(kind)).state;
  state += kSplitMixStep;
  return split_mix(state) % bound;
}

}  // namespace detail
}  // namespace peal
