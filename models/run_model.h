// SPDX-License-Identifier: BSD-3-Clause
// run_model() runs a model as a program, in the same way for every model. It opens the listener, reports the address,
// runs the model, deletes the file of a unix socket, and returns what the model counted.
#pragma once

#include <expected>
#include <string>

#include <models/model_table.h>

namespace peal::models {

// Runs the model until SIGTERM or SIGINT, then returns the model's statistics as text. An error is a sentence that says
// why the model could not run.
//
// When the model listens, `on_listening` is called with the address. If port 0 was requested, the address contains the
// port that the kernel chose. If `on_listening` returns false, the model ends, and run_model() returns an error.
//
// Call run_model() on the main thread, before any other thread is started. run_model() blocks SIGTERM and SIGINT in the
// calling thread. Threads that are started later inherit the blocked signals.
std::expected<std::string, std::string> run_model(const ModelEntry& model, ModelOptions options,
                                                  const OnListening& on_listening);

}  // namespace peal::models
