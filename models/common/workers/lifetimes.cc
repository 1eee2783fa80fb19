// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/workers/lifetimes.h>

#include <utility>

#include <models/common/workers/worker_processes.h>

namespace peal::models {

Result<void> run_lifetimes(ModelRun& run, const ServeLifetime& serve) {
  return run_worker_processes(run, 1, WorkerEnd::kByStop, [&](const WorkerStart& start) -> Result<void> {
    Result<Stop> stop = Stop::make();
    if (!stop) return std::unexpected(stop.error());
    ModelRun own{run.options, std::move(run.listener), *stop, run.statistics};
    Result<std::unique_ptr<CoroutineLoop>> loop = CoroutineLoop::make(own.options, own.stop);
    if (!loop) return std::unexpected(loop.error());
    return serve(**loop, own, start.make_room);
  });
}

}  // namespace peal::models
