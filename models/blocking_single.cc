// SPDX-License-Identifier: BSD-3-Clause
// blocking_single (SingleProcess): the simplest server there is, and the baseline of all others.
//
//   one thread:  accept ──> read ─> frames ─> work ─> write ──> ... until the client ends ──> accept the next
//
// Who accepts, reads, computes and writes: the one thread, in blocking calls. Work never changes hands. One client is
// served at a time; the others wait in the listener's backlog, for as long as the one before them likes: one that
// connects and says nothing stops the service for all.
#include <models/common/blocking_service.h>
#include <models/models.h>

namespace peal::models {

Result<void> blocking_single(ModelRun& run) {
  Result<std::unique_ptr<BlockedThreads>> sleepers = BlockedThreads::start(run.stop);
  if (!sleepers) return std::unexpected(sleepers.error());
  const BlockedThreads::Place place(**sleepers, run.listener.get());
  serve_one_after_another(run.listener.get(), run, sleepers->get());
  return {};
}

}  // namespace peal::models
