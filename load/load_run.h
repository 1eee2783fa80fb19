// SPDX-License-Identifier: BSD-3-Clause
// A run of the load generator: one lane a thread, led through its phases by the calling thread.
//
//   connecting --all open--> warming --warm_up--> measuring --duration--> draining --all back, or grace--> done
//
// The two instants that count are the end of warming and the end of measuring: at each, every lane hands over what it
// has recorded. No phase lacks a deadline. SIGINT and SIGTERM end measuring early; a second one ends the draining.
#pragma once

#include <expected>
#include <functional>
#include <string>

#include <load/load_options.h>
#include <load/outcome.h>
#include <load/session.h>

namespace peal::load {

// What a live view shows, of the measurement so far.
struct Progress {
  Duration elapsed{};
  double messages_per_s = 0;  // since the last look
  size_t in_flight = 0;       // messages
  size_t open = 0;            // connections
  uint64_t failures = 0;
  int64_t p50_ns = 0;
  int64_t p99_ns = 0;
};
// Called four times a second, on the calling thread.
using OnProgress = std::move_only_function<void(const Progress&)>;

// Blocks until the run has ended. The error is one sentence: nothing was measured, and why. `options` make sense
// (options_trouble() is empty) and the fd limit allows them. Handles SIGINT and SIGTERM while it lasts. Without
// `on_progress` the lanes are left alone between the two instants.
std::expected<Outcome, std::string> run_load(const LoadOptions& options, const Protocol& protocol,
                                             OnProgress on_progress = {});

}  // namespace peal::load
