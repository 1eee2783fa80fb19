// SPDX-License-Identifier: BSD-3-Clause
// run_with_own_listeners() runs a single-process model in several processes, each with its own listener.
#pragma once

#include <models/model_table.h>

namespace peal::models {

// Runs `model` in options.workers processes, until SIGTERM or SIGINT arrives. Each process has a listener of its own.
// All listeners have the same address (SO_REUSEPORT). The parent process keeps all listeners open too. Therefore
// clients in the backlog of a listener are not lost if its process dies: they wait for the process that replaces the
// dead one.
Result<void> run_with_own_listeners(ModelRun& run, RunModel model);

}  // namespace peal::models
