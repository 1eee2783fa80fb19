// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/trigger_service.h>

#include <utility>

#include <models/common/blocking_service.h>

namespace peal::models {

Result<std::unique_ptr<TriggerService>> TriggerService::make(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  return std::unique_ptr<TriggerService>(new TriggerService(run, std::move(*sleepers)));
}

void TriggerService::accept(const std::function<void(Fd)>& on_accepted) {
  for (;;) {
    Accepted next = accept_one(listener(), Blocking::kYes);
    has_room_ = next.did != CallOutcome::kNoRoom;
    if (next.did != CallOutcome::kDone) return;
    count_one(run_.statistics, &Tally::accepted);
    on_accepted(std::move(next.socket));
  }
}

void TriggerService::serve(Fd client) {
  const BlockedThreads::Place place(*sleepers_, client.get());
  serve_and_count(client.get(), run_);
}

void TriggerService::refuse(Fd client) {
  count_one(run_.statistics, &Tally::refused);
  client.reset();
}

}  // namespace peal::models
