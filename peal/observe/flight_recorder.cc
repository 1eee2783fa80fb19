// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/flight_recorder.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include <fmt/format.h>

#include <peal/base/assert.h>

namespace peal {

static constexpr size_t kMostEvents = size_t{1} << 24;

std::string_view to_string(FlightKind kind) {
  static constexpr std::array<std::string_view, 17> kNames = {
      "connecting",       "opened",     "received",     "sent",        "paused",   "resumed", "above high water",
      "below high water", "peer ended", "ended output", "send failed", "deadline", "budget",  "threw",
      "starts its layer", "closing",    "closed"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "?";
}

FlightRecorder::FlightRecorder(size_t events, TimeBy time)
    : mask_(std::bit_ceil(events) - 1), by_cycles_(time == TimeBy::kCycles && CycleClock::usable()) {
  PEAL_ASSERT(events > 0 && events <= kMostEvents, "a flight recorder has room for 1 to 2^24 events, not {}", events);
  ring_ = std::make_unique<Kept[]>(capacity());
}

std::vector<FlightEvent> FlightRecorder::last(std::optional<FlightId> id, size_t most) const {
  const CycleClock::Moment now = CycleClock::now();
  const auto time_of = [&](uint64_t stamp) {
    return by_cycles_ ? CycleClock::time_of(stamp, made_, now) : TimePoint(Duration(stamp));
  };
  std::vector<FlightEvent> found;
  const uint64_t kept = std::min<uint64_t>(count_, capacity());
  for (uint64_t back = 1; back <= kept && found.size() < most; ++back) {
    const Kept& event = ring_[(count_ - back) & mask_];
    if (id && event.id != *id) continue;
    found.push_back({.at = time_of(event.stamp),
                     .id = event.id,
                     .kind = static_cast<FlightKind>(event.bytes_and_kind & 0xff),
                     .bytes = event.bytes_and_kind >> 8});
  }
  std::ranges::reverse(found);
  return found;
}

std::string FlightRecorder::dump(std::optional<FlightId> id, size_t most, std::string_view (*reason)(uint64_t)) const {
  const std::vector<FlightEvent> events = last(id, most);
  std::string text;
  for (const FlightEvent& event : events) {
    const std::chrono::duration<double, std::milli> before = event.at - events.back().at;
    text += fmt::format("{:>12.3f} ms  ", before.count());
    if (!id) text += fmt::format("#{}.{:<6} ", event.id.slot, event.id.generation);
    text += to_string(event.kind);
    if (event.kind == FlightKind::kClosing && reason != nullptr) {
      text.append(": ").append(reason(event.bytes));
    } else if (event.bytes != 0) {
      text += fmt::format(" {}", event.bytes);
    }
    text += '\n';
  }
  return text;
}

}  // namespace peal
