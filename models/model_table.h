// SPDX-License-Identifier: BSD-3-Clause
// The table of all models, one row each, in the order in which to read them. A model is a function that serves clients
// until it is asked to stop.
//
// All models offer the same service. A client sends frames. A frame is a 4-byte big-endian number, and then a body of
// as many bytes as the number says. For each frame, the server runs the configured work (ModelOptions::work) and sends
// the frame back unchanged.
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

// A callback that reports the address at which a model listens. If the user requested port 0, the address contains the
// port that the kernel chose. The callback returns false if the report has failed. The model then ends.
using OnListening = std::function<bool(const SocketAddress&)>;

// The argument of a model. A model is a function of the type RunModel. The function returns when a stop was requested
// and all threads and processes of the model have ended. If the model fails, the function returns earlier. `listener`
// already listens at options.listen, and belongs to the model. `listener` is empty if the model opens its own listener.
struct ModelRun {
  const ModelOptions& options;
  Fd listener;
  const Stop& stop;
  Statistics& statistics;
  // Set only for a model that opens its own listener (ModelEntry::listens_itself). The model calls on_listening as soon
  // as its listener is open. If the call returns false, the model ends.
  OnListening on_listening = {};
};
using RunModel = Result<void> (*)(ModelRun& run);

enum class Family : uint8_t { kBlocking, kTrigger, kReactor, kCoroutine, kHalfSync, kMainSub, kIoModel, kLibio, kPeal };
std::string_view to_string(Family family);

// How many connections a model serves at the same time: one, one for each worker, or many. Further connections wait in
// the listener's backlog.
enum class Serves : uint8_t { kOne, kWorkers, kMany };

struct ModelEntry {
  std::string_view name;           // the family, then the mechanism, as in "reactor_epoll"
  std::string_view historic = {};  // the name under which it was published, or ""
  Family family;
  std::string_view line;  // a one-line description
  Serves serves = Serves::kMany;
  bool processes = false;          // runs more than one process
  bool blocking_listener = false;  // `listener` is a blocking socket
  bool own_listeners = false;      // each worker has its own listener (SO_REUSEPORT), so the address must be IP
  bool listens_itself = false;     // opens its own listener; ModelRun::listener is empty
  bool io_uring = false;           // needs io_uring, and cannot run without it
  Takes takes = Takes::kNothing;
  RunModel run;

  bool times_out() const { return includes(takes, Takes::kSlowTimeout); }  // closes slow connections
};

std::span<const ModelEntry> model_table();

}  // namespace peal::models
