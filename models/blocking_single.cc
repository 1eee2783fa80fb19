// SPDX-License-Identifier: BSD-3-Clause
// blocking_single (SingleProcess): the simplest server, with which all others are compared.
//
//   one thread:  accept ──> read ─> frames ─> work ─> write ──> ... until the client ends ──> accept the next
//
// One thread accepts, reads, computes and writes, in blocking calls. It serves one client at a time. The other clients
// wait in the listener's backlog, without a time limit. So one client that connects and sends nothing blocks the
// service for all others.
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
