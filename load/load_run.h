// SPDX-License-Identifier: BSD-3-Clause
// A run of the load generator. The connections are divided among threads; the share of one thread is called a lane. The
// calling thread moves all lanes together from one phase to the next:
//
//   connecting --all open--> warming --warm_up--> measuring --duration--> draining --all back, or grace--> done
//
// The phase "measuring" is the measurement. Every lane hands over what it has recorded at the start of this phase, at
// the end of each interval, and at the end of the phase. It does so even if the caller has passed no OnInterval. Every
// phase has a time limit.
//
// SIGINT and SIGTERM end the run early. Before the measurement, the run fails with kInterruptedEarly. During the
// measurement, the first signal begins the phase "draining", in which the run waits for missing answers. A second
// signal ends that phase.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <load/plan/load_options.h>
#include <load/record/outcome.h>
#include <load/session/session.h>
#include <peal/base/callback.h>

namespace peal::load {

// A function that gets the results of an interval of the measurement. It is called at the end of each interval except
// the last one, on the thread that has called run_load(). The Outcome holds the results from the beginning of the
// measurement until now. Only these members of the Outcome are set: `engine`, `echoes`, `began`, `total`, `intervals`,
// `lifetime`, `connect`, `interrupted` and the times in `handshakes`.
using OnInterval = Callback<void(const Interval&, const Outcome&)>;

// The error that run_load() returns if SIGINT or SIGTERM arrives before the measurement begins.
inline constexpr std::string_view kInterruptedEarly = "interrupted before anything was measured";

// Runs the load generator and returns its results when the run has ended. If nothing could be measured, returns one
// sentence that says why. Asserts that options_trouble(options) is empty. The process must be allowed to open
// fds_needed(options) file descriptors. While the function runs, SIGINT and SIGTERM do not end the process, but end the
// run early, as described at the top of this file.
std::expected<Outcome, std::string> run_load(const LoadOptions& options, const Protocol& protocol,
                                             OnInterval on_interval = {});

}  // namespace peal::load
