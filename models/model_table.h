// SPDX-License-Identifier: BSD-3-Clause
// The table of all models: one row each, in reading order. A model is a function that serves until it is asked to stop.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <models/common/model_options.h>
#include <models/common/statistics.h>
#include <models/common/stop.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::models {

// Is told the address a model listens at, with its port; false: it could not be passed on.
using OnListening = std::function<bool(const SocketAddress&)>;

// What a model runs with. The model takes `listener`, which listens already; `listen` of the options is where, with the
// port that was found. Returns when `stop` was asked and everything it started has ended.
struct ModelRun {
  const ModelOptions& options;
  Fd listener;
  const Stop& stop;
  Statistics& statistics;
  // For who listens by itself (ModelEntry::listens_itself): to be called then; false from it ends the model.
  OnListening on_listening = {};
};
using RunModel = Result<void> (*)(ModelRun& run);

enum class Family : uint8_t { kBlocking, kTrigger, kReactor, kCoroutine, kHalfSync, kMainSub, kIoModel, kLibio, kPeal };
std::string_view to_string(Family family);

// How many connections it serves at a time; further ones wait in the backlog.
enum class Serves : uint8_t { kOne, kWorkers, kMany };

struct ModelEntry {
  std::string_view name;           // family first, the mechanism in words
  std::string_view historic = {};  // what it was called where it was published; "" where it was not
  Family family;
  std::string_view line;  // what it is, in one line
  Serves serves = Serves::kMany;
  bool processes = false;          // more than one process
  bool blocking_listener = false;  // `listener` is a blocking socket
  bool own_listeners = false;      // every worker listens by itself (SO_REUSEPORT): needs an IP address
  bool listens_itself = false;     // there is no `listener`: it does not take one from others
  bool io_uring = false;           // needs it; where it cannot run, neither can the model
  Takes takes = Takes::kNothing;
  RunModel run;

  bool times_out() const { return includes(takes, Takes::kSlowTimeout); }  // closes the slow ones
};

std::span<const ModelEntry> model_table();

}  // namespace peal::models
