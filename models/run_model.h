// SPDX-License-Identifier: BSD-3-Clause
// The life of a model as a program, the same for all of them: listen, say where, run, take a socket file away, count.
#pragma once

#include <expected>
#include <string>

#include <models/model_table.h>

namespace peal::models {

// Serves until SIGTERM or SIGINT; then: what was counted, in words. An error is a sentence. `on_listening` is told the
// address with its port; false from it ends everything. On the main thread, before any other is started.
std::expected<std::string, std::string> run_model(const ModelEntry& model, ModelOptions options,
                                                  const OnListening& on_listening);

}  // namespace peal::models
