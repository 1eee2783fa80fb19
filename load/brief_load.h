// SPDX-License-Identifier: BSD-3-Clause
// Helpers for tests: options for very short runs, and functions that run them and return their results.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <load/load_run.h>
#include <load/record/gates.h>

namespace peal::load {

inline LoadOptions brief_load(const SocketAddress& target, size_t connections) {
  LoadOptions options;
  options.target = target;
  options.target_text = target.to_string();
  options.connections = connections;
  options.duration = std::chrono::milliseconds(300);  // a busy machine may run no message for 100 ms
  options.warm_up = std::chrono::milliseconds(20);
  options.grace = std::chrono::seconds(5);
  options.engine = "epoll";
  return options;
}

// Runs the load generator and returns its results. If the run fails, throws an exception, so that the test fails.
inline Outcome outcome_of(const LoadOptions& options, const Protocol& protocol, OnInterval on_interval = {}) {
  std::expected<Outcome, std::string> outcome = run_load(options, protocol, std::move(on_interval));
  if (!outcome) throw std::runtime_error(outcome.error());
  return std::move(*outcome);
}

// Returns the names of all gates whose verdict is INVALID. A gate is a check of the results of a run.
inline std::vector<std::string> invalid_ones(const std::vector<Gate>& gates) {
  std::vector<std::string> names;
  for (const Gate& gate : gates) {
    if (gate.verdict == Verdict::kInvalid) names.push_back(gate.name);
  }
  return names;
}

}  // namespace peal::load
