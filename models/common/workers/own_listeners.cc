// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/workers/own_listeners.h>

#include <utility>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/workers/worker_processes.h>

namespace peal::models {

Result<void> run_with_own_listeners(ModelRun& run, RunModel model) {
  std::vector<Fd> listeners;
  listeners.push_back(std::move(run.listener));
  while (listeners.size() < run.options.workers) {
    Result<Fd> listener = listen_at(run.options.listen, Blocking::kNo, Shared::kYes);
    if (!listener) return std::unexpected(listener.error());
    listeners.push_back(std::move(*listener));
  }
  return run_worker_processes(run, listeners.size(), WorkerEnd::kByStop, [&](const WorkerStart& start) -> Result<void> {
    Result<Stop> stop = Stop::make();
    if (!stop) return std::unexpected(stop.error());
    ModelRun own{run.options, std::move(listeners[start.index]), *stop, run.statistics};
    listeners.clear();
    return model(own);
  });
}

}  // namespace peal::models
