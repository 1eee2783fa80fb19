// SPDX-License-Identifier: BSD-3-Clause
// The JSON library and the functions of this file throw exceptions. read_record() catches all of them.
#include <load/record/record_reader.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <load/record/histogram_codec.h>
#include <peal/wire/parse_text.h>

namespace peal::load {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& sentence) { throw std::runtime_error(sentence); }

constexpr uint16_t kMostStatus = 999;
// The highest count that a report may contain. There are two reasons for this limit:
// - Some programs store JSON numbers as doubles. A double holds each whole number up to 2^53 exactly.
// - Counts are added up, for example those of several reports. A sum of a thousand counts of this size still fits into
//   64 bits.
constexpr uint64_t kMostCounted = uint64_t{1} << 53;

// Returns the value of the field `key`. Throws if the value is not an unsigned integer. Without this check, the
// conversion of a value such as 1e300 to an integer would have undefined behaviour.
uint64_t unsigned_of(const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_number_unsigned()) refuse(fmt::format("\"{}\" is not a count", key));
  return value.get<uint64_t>();
}

uint64_t count_of(const Json& json, const char* key) {
  const uint64_t count = unsigned_of(json, key);
  if (count > kMostCounted) refuse(fmt::format("\"{}\" is too large for a count", key));
  return count;
}

int64_t whole_of(const Json& json, const char* key) { return static_cast<int64_t>(count_of(json, key)); }

double number_of(const Json& json, const char* key) {
  const auto value = json.at(key).get<double>();
  if (!std::isfinite(value) || value < 0) refuse(fmt::format("\"{}\" is out of range", key));
  return value;
}

size_t bounded_count_of(const Json& json, const char* key, size_t most) {
  const uint64_t count = count_of(json, key);
  if (count > most) refuse(fmt::format("\"{}\" is {}, but may be at most {}", key, count, most));
  return count;
}

Duration duration_of(const Json& json, const char* key) { return Duration(whole_of(json, key)); }

Histogram decoded(const std::string& text) {
  Result<Histogram> histogram = decode_histogram(text);
  if (!histogram) refuse(fmt::format("a histogram cannot be read: {}", histogram.error().message()));
  if (histogram->total_count() > kMostCounted) refuse("a histogram has a count that is too large");
  if (histogram->options() != kLatencyRange) refuse("a histogram has another range than this program uses");
  return std::move(*histogram);
}

// Returns a copy of the histogram `plain` in which clamped_count() returns `clamped`. A clamped value is a value above
// the highest value of the histogram's range. record() counts a clamped value in the highest bucket and also in
// clamped_count(). The encoded form of a histogram does not contain clamped_count(), so a report stores this number in
// a separate field. Throws if `clamped` is more than the count of the highest bucket.
Histogram with_clamped(const Histogram& plain, uint64_t clamped) {
  if (clamped == 0) return plain;
  const int64_t top = plain.lowest_equivalent(kLatencyRange.highest);
  Histogram histogram(kLatencyRange);
  plain.for_each_recorded([&](const Histogram::Bucket& bucket) {
    if (bucket.lowest != top) return histogram.record_n(bucket.lowest, bucket.count);
    if (bucket.count < clamped) refuse("more times were clamped than were recorded");
    histogram.record_n(kLatencyRange.highest, bucket.count - clamped);
    histogram.record_n(kLatencyRange.highest + 1, clamped);
  });
  if (histogram.clamped_count() != clamped) refuse("more times were clamped than were recorded");
  return histogram;
}

Histogram histogram_of(const Json& json) {
  return with_clamped(decoded(json.at("hdr").get<std::string>()), count_of(json, "clamped"));
}

std::optional<Histogram> histogram_or_none(const Json& json, const char* key) {
  const Json& value = json.at(key);
  return value.is_null() ? std::nullopt : std::optional<Histogram>(histogram_of(value));
}

Counts counts_of(const Json& json) {
  Counts counts;
  for (const CountName& each : kCountNames) {
    if (each.in_all || json.contains(each.name)) counts.*each.count = count_of(json, each.name);
  }
  return counts;
}

LoadOptions options_of(const Json& json) {
  LoadOptions options;
  options.target_text = json.at("target").get<std::string>();
  const Json& connections = json.at("connections");
  options.connections = bounded_count_of(connections, "asked", std::numeric_limits<uint32_t>::max());
  options.idle_connections = bounded_count_of(connections, "idle_asked", std::numeric_limits<uint32_t>::max());
  options.threads = bounded_count_of(json, "threads", std::numeric_limits<uint32_t>::max());
  if (options.connections == 0 || options.threads == 0) refuse("it has no connections or no threads");
  options.size = bounded_count_of(json, "size", kMostBytes);
  options.pipeline = bounded_count_of(json, "pipeline", kMostPipelined);
  if (const Json& range = json.at("requests_per_connection"); !range.is_null()) {
    options.requests_per_connection = {count_of(range, "least"), count_of(range, "most")};
  }
  options.duration = duration_of(json, "duration_ns");
  options.warm_up = duration_of(json, "warm_up_ns");
  options.interval = duration_of(json, "interval_ns");
  options.seed = unsigned_of(json, "seed");
  options.expect_queueing = json.value("expects_queueing", false);
  options.layer_text = json.value("layer", "");
  if (json.at("spins").get<bool>()) options.spin.mode = Spin::Mode::kAuto;
  // A report contains only the mean rate of the send schedule, not the schedule itself. So the options get a schedule
  // with this rate and equal gaps between the messages.
  if (json.at("mode").get<std::string>() == "rate") {
    options.arrivals = ArrivalPlan::constant(std::clamp(number_of(json, "offered_rate"), 1e-9, kMostRate));
  }
  if (const Json& server = json.at("server"); !server.is_null()) {
    options.server_pid = static_cast<int>(bounded_count_of(server, "pid", std::numeric_limits<int>::max()));
  }
  return options;
}

std::optional<Handshakes> handshakes_of(const Json& json) {
  if (!json.contains("handshakes")) return std::nullopt;
  const Json& counts = json.at("handshakes");
  Handshakes handshakes{.failed = count_of(counts, "failed"), .agreed = counts.at("agreed").get<std::string>()};
  handshakes.times = histogram_of(json.at("handshake_ns"));
  handshakes.resumed = bounded_count_of(counts, "resumed", handshakes.done());
  return handshakes;
}

std::optional<ServerUse> server_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  ServerUse server{.cpu = std::nullopt,
                   .rss_bytes = count_of(json, "rss_bytes"),
                   .voluntary_switches = count_of(json, "voluntary_switches"),
                   .involuntary_switches = count_of(json, "involuntary_switches"),
                   .processes = count_of(json, "processes"),
                   .forgets_children = json.value("forgets_children", false)};
  if (!json.at("cpu_ns").is_null()) server.cpu = duration_of(json, "cpu_ns");
  return server;
}

Interval interval_of(const Json& json) {
  Interval interval;
  interval.from = duration_of(json, "from_ns");
  interval.to = duration_of(json, "to_ns");
  if (interval.to < interval.from) refuse("an interval ends before it begins");
  interval.counts = counts_of(json);
  interval.failures = count_of(json, "failures");
  interval.in_flight = count_of(json, "in_flight");
  interval.open = count_of(json, "open");
  interval.percentiles_known = json.contains("p50");
  if (interval.percentiles_known) {
    for (const IntervalPercentile& each : kIntervalPercentiles) interval.*each.value = whole_of(json, each.name);
  }
  if (json.contains("hdr")) interval.latency = decoded(json.at("hdr").get<std::string>());
  return interval;
}

Outcome outcome_of(const Json& json, const LoadOptions& options) {
  Outcome outcome(
      RecordingParts{.open_loop = !options.closed_loop(), .first_byte = !json.at("first_byte_ns").is_null()});
  outcome.engine = json.at("engine").get<std::string>();
  constexpr double kLatest = 9e9;  // seconds since 1970, so in 2255; much later times in ns do not fit into 64 bits
  const double began = std::min(number_of(json, "began"), kLatest);
  outcome.began = std::chrono::system_clock::time_point(std::chrono::nanoseconds(std::llround(began * 1e9)));
  const double seconds = std::min(number_of(json, "seconds"), kLatest);
  outcome.window = Duration(std::llround(seconds * 1e9));
  outcome.total.span = outcome.window * static_cast<int64_t>(std::min<size_t>(options.threads, kMostThreads));
  outcome.total.counts = counts_of(json);
  outcome.lifetime = counts_of(json.at("lifetime"));
  outcome.total.latency = histogram_of(json.at("latency_ns"));
  outcome.total.service = histogram_or_none(json, "service_ns");
  outcome.total.send_lag = histogram_or_none(json, "send_lag_ns");
  if (outcome.total.service.has_value() == options.closed_loop() ||
      outcome.total.send_lag.has_value() == options.closed_loop()) {
    refuse("an open loop must have a service time and a send lag, and a closed loop must have neither");
  }
  outcome.total.first_byte = histogram_or_none(json, "first_byte_ns");
  outcome.connect = histogram_of(json.at("connect_ns"));
  outcome.handshakes = handshakes_of(json);
  outcome.total.cpu = duration_of(json.at("client"), "cpu_ns");
  outcome.total.spin = duration_of(json.at("client"), "spin_ns");
  const Json& connections = json.at("connections");
  outcome.opened = bounded_count_of(connections, "open", options.connections);
  outcome.served = bounded_count_of(connections, "served", options.connections);
  if (options.expect_queueing) {
    outcome.queued.connections = bounded_count_of(connections, "queued", options.connections);
    outcome.queued.unopened = bounded_count_of(connections, "queued_unopened", options.connections - outcome.opened);
  }
  outcome.idle_open = bounded_count_of(connections, "idle_open", options.idle_connections);
  outcome.offered = number_of(json, "offered");
  outcome.unsent = count_of(json.at("censored"), "unsent");
  outcome.unanswered = count_of(json.at("censored"), "unanswered");
  outcome.echoes = json.at("echoes").get<bool>();
  outcome.came_back = json.at("came_back").get<bool>();
  outcome.interrupted = json.at("interrupted").get<bool>();
  outcome.server = server_of(json.at("server"));
  for (const auto& [kind, first] : json.at("first_errors").items()) {
    outcome.failures.add(kind, first.get<std::string>(), count_of(json.at("errors"), kind.c_str()));
  }
  if (json.contains("statuses")) {
    for (const auto& [status, count] : json.at("statuses").items()) {
      const auto number = parse_text<uint16_t>(status);
      if (!number || *number > kMostStatus) refuse("a status is not a number of three digits");
      outcome.statuses[*number] = count_of(json.at("statuses"), status.c_str());
    }
  }
  for (const Json& interval : json.at("intervals")) outcome.intervals.push_back(interval_of(interval));
  return outcome;
}

RunRecord record_of(const Json& json) {
  if (json.value("tool", Json()) != "peal load" || json.value("schema", Json()) != 1) {
    refuse("it is not a report of peal load");
  }
  if (!json.contains("intervals")) refuse("it is a report of an older peal load, which wrote too few fields");
  LoadOptions options = options_of(json);
  Outcome outcome = outcome_of(json, options);
  RunRecord record{.experiment = json.at("experiment").get<std::string>(),
                   .request = json.at("request").get<std::string>(),
                   .schedule = options.closed_loop() ? "" : json.at("arrivals").get<std::string>(),
                   .options = std::move(options),
                   .outcome = std::move(outcome),
                   .gates = {},
                   .skipped = {},
                   .merged = json.value("merged", std::vector<std::string>())};
  for (const Json& gate : json.at("gates")) {
    const bool invalid = gate.at("verdict").get<std::string>() == to_string(Verdict::kInvalid);
    record.gates.push_back({gate.at("name").get<std::string>(), invalid ? Verdict::kInvalid : Verdict::kNoisy,
                            gate.at("sentence").get<std::string>()});
  }
  for (const Json& gate : json.at("skipped_gates")) {
    record.skipped.push_back({gate.at("name").get<std::string>(), gate.at("sentence").get<std::string>()});
  }
  return record;
}

}  // namespace

std::expected<RunRecord, std::string> read_record(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  if (parsed.is_discarded()) return std::unexpected("it is not JSON");
  if (!parsed.is_object()) return std::unexpected("it is not a report of peal load");
  try {
    return record_of(parsed);
  } catch (const Json::out_of_range&) {
    return std::unexpected("a field of the report is missing");
  } catch (const Json::exception&) {
    return std::unexpected("a field of the report has the wrong type");
  } catch (const std::runtime_error& error) {
    return std::unexpected(error.what());
  }
}

}  // namespace peal::load
