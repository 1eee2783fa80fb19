// SPDX-License-Identifier: BSD-3-Clause
// For tests: a RunRecord with made-up figures. In this run, 100 messages were answered in 2 s. Only 2 of 3 connections
// opened, and one of them broke.
#pragma once

#include <load/record/run_record.h>

namespace peal::load {

struct SampleParts {
  bool open_loop = false;
  bool first_byte = false;
  bool with_server = false;
  bool interval_histograms = false;
  bool handshakes = false;
};

inline Interval sample_interval(int number, uint64_t messages, bool with_histogram) {
  Interval interval;
  interval.from = std::chrono::seconds(number);
  interval.to = std::chrono::seconds(number + 1);
  interval.counts = {.messages = messages, .bytes_received = 64 * messages, .bytes_sent = 64 * messages};
  interval.in_flight = 2;
  interval.open = 2;
  interval.p50_ns = interval.p90_ns = interval.p99_ns = interval.p999_ns = interval.max_ns = 1000;
  if (with_histogram) {
    interval.latency.emplace(kLatencyRange);
    interval.latency->record_n(1000, messages);
  }
  return interval;
}

inline RunRecord sample_record(const SampleParts& parts) {
  using std::chrono_literals::operator""ms;
  LoadOptions options;
  options.target_text = "127.0.0.1:9981";
  options.connections = 3;
  options.duration = std::chrono::seconds(2);
  Outcome outcome(
      RecordingParts{.open_loop = parts.open_loop, .first_byte = parts.first_byte, .handshake = parts.handshakes});
  outcome.engine = "epoll";
  outcome.began = std::chrono::system_clock::time_point(1'700'000'000'500ms);
  outcome.window = std::chrono::seconds(2);
  outcome.opened = outcome.served = 2;
  outcome.total.counts = {.messages = 100, .reads = 110, .bytes_received = 6400, .bytes_sent = 6464};
  outcome.lifetime = {.messages = 120, .bytes_received = 7680, .bytes_sent = 7680, .attempts = 3, .connects = 2};
  outcome.total.span = outcome.window;
  outcome.total.cpu = 10ms;
  outcome.total.spin = 4ms;
  outcome.total.latency.record_n(1000, 99);
  outcome.total.latency.record(50'000);
  outcome.connect.record_n(30'000, 2);
  outcome.failures.add("reset", "a connection broke");
  outcome.unsent = 3;
  outcome.unanswered = 4;
  outcome.came_back = true;
  if (parts.first_byte) outcome.total.first_byte->record_n(900, 100);
  if (parts.handshakes) {
    options.layer_text = "TLS, sessions resumed";
    outcome.handshakes->times.record_n(700'000, 2);
    outcome.handshakes->resumed = 1;
    outcome.handshakes->failed = 1;
    outcome.handshakes->agreed = "TLSv1.3, TLS_AES_128_GCM_SHA256";
  }
  if (parts.open_loop) {
    options.arrivals = ArrivalPlan::constant(50);
    outcome.offered = 100;
    outcome.total.send_lag->record_n(2000, 5);
  }
  if (parts.with_server) {
    options.server_pid = 77;
    outcome.server =
        ServerUse{.cpu = 20ms, .rss_bytes = 4096, .voluntary_switches = 7, .involuntary_switches = 8, .processes = 2};
  }
  outcome.intervals = {sample_interval(0, 60, parts.interval_histograms),
                       sample_interval(1, 40, parts.interval_histograms)};
  return make_record("pingpong", "64 bytes", parts.open_loop ? "constant 50/s" : "", options, std::move(outcome));
}

}  // namespace peal::load
