// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/workers/own_listeners.h>

#include <utility>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/workers/worker_processes.h>

namespace peal::models {

Result<void> run_with_own_listeners(ModelRun& run, RunModel model) {
  Result<std::vector<Fd>> listeners = share_listening(std::move(run.listener), run.options.workers, Blocking::kNo);
  if (!listeners) return std::unexpected(listeners.error());
  const auto work = [&](const WorkerStart& start) -> Result<void> {
    Result<Stop> stop = Stop::make();
    if (!stop) return std::unexpected(stop.error());
    ModelRun own{run.options, std::move((*listeners)[start.index]), *stop, run.statistics};
    listeners->clear();
    return model(own);
  };
  return run_worker_processes(run, listeners->size(), WorkerEnd::kByStop, work);
}

}  // namespace peal::models
