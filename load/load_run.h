// SPDX-License-Identifier: BSD-3-Clause
// A run of the load generator: one lane a thread, led through its phases by the calling thread.
//
//   connecting --all open--> warming --warm_up--> measuring --duration--> draining --all back, or grace--> done
//
// The two instants that count are the end of warming and the end of measuring: at each, every lane hands over what it
// has recorded, and so it does at the end of each interval between them, whether anybody looks or not. No phase lacks a
// deadline. SIGINT and SIGTERM end measuring early; a second one ends the draining.
#pragma once

#include <expected>
#include <string>

#include <load/plan/load_options.h>
#include <load/record/outcome.h>
#include <load/session/session.h>
#include <peal/base/callback.h>

namespace peal::load {

// Called at the end of each interval but the last, on the calling thread: the interval, and the measurement so far, of
// which `total`, `intervals`, `lifetime` and `connect` are filled in.
using OnInterval = Callback<void(const Interval&, const Outcome&)>;

// Blocks until the run has ended. The error is one sentence: nothing was measured, and why. `options` make sense
// (options_trouble() is empty) and the fd limit allows them. Handles SIGINT and SIGTERM while it lasts.
std::expected<Outcome, std::string> run_load(const LoadOptions& options, const Protocol& protocol,
                                             OnInterval on_interval = {});

}  // namespace peal::load
