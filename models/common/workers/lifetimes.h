// SPDX-License-Identifier: BSD-3-Clause
// run_lifetimes() runs a model with one process. When the process has accepted a given number of connections, it stops
// accepting, and a new process starts to accept.
//
//   process 1:  accept ......... done accepting │ ends what it has, returns
//   process 2:                                  │ accept ......... done accepting │ ends what it has ...
//                      master starts it here ───┘
//
// All processes inherit the same listener. Connections that arrive before the next process accepts wait in the
// listener's backlog. A long connection delays nobody, because its process stays alive beside the new process until the
// connection ends.
#pragma once

#include <functional>

#include <models/common/coroutine/coroutine_loop.h>
#include <models/model_table.h>

namespace peal::models {

// The main function of one process of run_lifetimes(). Serves connections on `loop`, and returns when every coroutine
// on `loop` has ended. `own` has the listener, the options and the statistics of the model, and a Stop of this process.
// After options.served_per_lifetime connections, the function stops accepting and calls `make_room`, so that the next
// process starts. If SIGTERM or SIGINT ends the process earlier, the function does not call `make_room`.
using ServeLifetime =
    std::function<Result<void>(CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room)>;

// Runs `serve` in one process after another, until SIGTERM or SIGINT arrives. The next process starts when the current
// one calls make_room() or ends.
Result<void> run_lifetimes(ModelRun& run, const ServeLifetime& serve);

}  // namespace peal::models
