// SPDX-License-Identifier: BSD-3-Clause
// Outcome: all a run measured, added up over its threads, and the figures that follow from it. A plain value: gates and
// reports are functions of it and of the options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <load/load_options.h>
#include <load/recording.h>

namespace peal::load {

struct ServerUse {
  std::optional<Duration> cpu;  // between the same two instants as the counts; nothing: it ended before
  uint64_t rss_bytes = 0;       // at the second
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
};

struct Outcome {
  explicit Outcome(bool with_rate) : total(with_rate) {}

  std::string engine;  // the one that ran
  Recording total;     // between the two instants, all threads
  Duration window{};   // between them, the mean over the threads
  size_t opened = 0;   // connections
  size_t served = 0;   // of them, those on which a message came back
  Counts lifetime;     // warm-up and what came back after the end included
  Failures failures;
  // With a rate. What the measurement's end cut off: due but not sent, sent but not back.
  uint64_t unsent = 0;
  uint64_t unanswered = 0;
  bool came_back = false;  // after the end, all that was outstanding did, or its connection had failed
  bool interrupted = false;
  std::optional<ServerUse> server;

  double seconds() const { return static_cast<double>(window.count()) * 1e-9; }
  double messages_per_s() const { return per_second(static_cast<double>(total.counts.messages)); }
  // Received by the client, in 2^20 bytes.
  double mib_per_s() const { return per_second(static_cast<double>(total.counts.bytes_received) / (1 << 20)); }
  // Without the pacing's spinning.
  Duration client_work() const { return total.cpu > total.spin ? total.cpu - total.spin : Duration::zero(); }
  double client_ns_per_message() const { return per_message(client_work()); }
  // Of one core a thread.
  double client_share(const LoadOptions& options) const { return share(client_work(), options.threads); }
  bool knows_server_cpu() const { return server && server->cpu; }
  double server_ns_per_message() const { return knows_server_cpu() ? per_message(*server->cpu) : 0; }
  // The server is taken to have as many threads.
  double server_share(const LoadOptions& options) const {
    return knows_server_cpu() ? share(*server->cpu, options.threads) : 0;
  }

 private:
  double per_second(double count) const { return window > Duration::zero() ? count / seconds() : 0; }
  double per_message(Duration cost) const {
    return total.counts.messages == 0 ? 0
                                      : static_cast<double>(cost.count()) / static_cast<double>(total.counts.messages);
  }
  double share(Duration cpu, size_t threads) const {
    return per_second(static_cast<double>(cpu.count()) * 1e-9) / static_cast<double>(threads);
  }
};

}  // namespace peal::load
