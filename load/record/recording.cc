// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/recording.h>

#include <numeric>

namespace peal::load {

void Failures::add(const std::string& kind, const std::string& sentence, uint64_t count) {
  Kind& entry = kinds[kind];
  if (entry.count == 0) entry.first = sentence;
  entry.count += count;
}

void Failures::add(const Failures& other) {
  for (const auto& [kind, entry] : other.kinds) add(kind, entry.first, entry.count);
}

uint64_t Failures::count() const {
  return std::accumulate(kinds.begin(), kinds.end(), uint64_t{0},
                         [](uint64_t sum, const auto& kind) { return sum + kind.second.count; });
}

void Handshakes::add(const Handshakes& other) {
  times.add(other.times);
  resumed += other.resumed;
  failed += other.failed;
  if (agreed.empty()) {
    agreed = other.agreed;
  } else if (!agreed.contains(other.agreed)) {
    agreed += " and " + other.agreed;
  }
}

void Queued::add(const Queued& other) {
  connections += other.connections;
  unopened += other.unopened;
  messages += other.messages;
  being_served += other.being_served;
  bytes_owed += other.bytes_owed;
}

void Counts::add(const Counts& other) {
  for (const CountName& each : kCountNames) this->*each.count += other.*each.count;
}

namespace {

void add_part(std::optional<Histogram>& into, const std::optional<Histogram>& other) {
  if (!other) return;
  if (into) return into->add(*other);
  into = other;
}

}  // namespace

Recording::Recording(const RecordingParts& parts) {
  if (parts.open_loop) {
    service.emplace(kLatencyRange);
    send_lag.emplace(kLatencyRange);
  }
  if (parts.first_byte) first_byte.emplace(kLatencyRange);
  if (parts.handshake) handshake.emplace(kLatencyRange);
}

void Recording::add(const Recording& other) {
  counts.add(other.counts);
  span += other.span;
  cpu += other.cpu;
  spin += other.spin;
  latency.add(other.latency);
  connect.add(other.connect);
  for (const auto part : {&Recording::service, &Recording::send_lag, &Recording::first_byte, &Recording::handshake}) {
    add_part(this->*part, other.*part);
  }
}

}  // namespace peal::load
