// SPDX-License-Identifier: BSD-3-Clause
// A model of one process, run in several: each serves a listener of its own.
#pragma once

#include <models/model_table.h>

namespace peal::models {

// Runs `model` in as many worker processes as the options say, until SIGTERM or SIGINT. The master has every listener
// (SO_REUSEPORT) open too, so who waits for a worker that died is served by the one that takes its place.
Result<void> run_with_own_listeners(ModelRun& run, RunModel model);

}  // namespace peal::models
