// SPDX-License-Identifier: BSD-3-Clause
#include <load/record/recording.h>

#include <numeric>

#include <peal/base/assert.h>

namespace peal::load {

void Failures::add(const std::string& kind, const std::string& sentence, uint64_t count) {
  Kind& entry = kinds[kind];
  if (entry.count == 0) entry.first = sentence;
  entry.count += count;
}

void Failures::add(const Failures& other) {
  for (const auto& [kind, entry] : other.kinds) {
    Kind& mine = kinds[kind];
    if (mine.count == 0) mine.first = entry.first;
    mine.count += entry.count;
  }
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
  messages += other.messages;
  wrong += other.wrong;
  reads += other.reads;
  bytes_received += other.bytes_received;
  bytes_sent += other.bytes_sent;
  late_for_want += other.late_for_want;
  shed += other.shed;
  attempts += other.attempts;
  connects += other.connects;
  under_way += other.under_way;
  retired += other.retired;
  idle_closes += other.idle_closes;
}

Recording::Recording(const RecordingParts& parts) {
  if (parts.open_loop) {
    service.emplace(kLatencyRange);
    send_lag.emplace(kLatencyRange);
  }
  if (parts.first_byte) first_byte.emplace(kLatencyRange);
  if (parts.handshake) handshake.emplace(kLatencyRange);
}

void Recording::add(const Recording& other) {
  PEAL_ASSERT(service.has_value() == other.service.has_value() &&
                  first_byte.has_value() == other.first_byte.has_value() &&
                  handshake.has_value() == other.handshake.has_value(),
              "recordings of {} and {} messages with different parts", counts.messages, other.counts.messages);
  counts.add(other.counts);
  span += other.span;
  cpu += other.cpu;
  spin += other.spin;
  latency.add(other.latency);
  connect.add(other.connect);
  if (first_byte) first_byte->add(*other.first_byte);
  if (handshake) handshake->add(*other.handshake);
  if (!service) return;
  service->add(*other.service);
  send_lag->add(*other.send_lag);
}

}  // namespace peal::load
