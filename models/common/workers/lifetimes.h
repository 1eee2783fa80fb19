// SPDX-License-Identifier: BSD-3-Clause
// Lifetimes: a model of one process that makes room for a fresh one when it has accepted so many connections.
//
//   process 1:  accept ......... done accepting │ ends what it has, returns
//   process 2:                                  │ accept ......... done accepting │ ends what it has ...
//                      master starts it here ───┘
//
// All inherit the one listener, so who waits in its backlog meanwhile is accepted by the next process; and a connection
// that lasts holds up nobody: its process lives on beside the fresh one for as long as it does.
#pragma once

#include <functional>

#include <models/common/coroutine/coroutine_loop.h>
#include <models/model_table.h>

namespace peal::models {

// A process's life, on its loop: returns when every coroutine has ended. It has its own listener, and calls `make_room`
// once, when it accepts no more.
using ServeLifetime =
    std::function<Result<void>(CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room)>;

// Process after process until SIGTERM or SIGINT.
Result<void> run_lifetimes(ModelRun& run, const ServeLifetime& serve);

}  // namespace peal::models
