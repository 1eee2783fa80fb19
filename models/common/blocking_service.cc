// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/blocking_service.h>

#include <optional>
#include <utility>

#include <models/common/echo/take_frames.h>
#include <models/common/plain_sockets.h>

namespace peal::models {

Fd accept_next(int listener, Statistics& statistics, const BlockedThreads* sleepers) {
  for (;;) {
    Accepted next = accept_one(listener, Blocking::kYes);
    if (next.did == CallOutcome::kDone) {
      count_one(statistics, &Tally::accepted);
      return std::move(next.socket);
    }
    // Checks stopping() too, because accept_one() does not report the shutdown of the listener while no fd is free:
    // accept(2) then fails with EMFILE, even if the listener was shut down. `sleepers` is null if SIGTERM kills the
    // process.
    if (next.did == CallOutcome::kEnd || (sleepers != nullptr && sleepers->stopping())) return {};
    wait_for_room();
  }
}

void serve_to_the_end(int socket, const ModelOptions& options, Tally& tally) {
  EchoBytes buffer(options.max_body_bytes);
  ++tally.ended;
  while (read_some(socket, buffer).did == CallOutcome::kDone) {
    const FrameState last = take_frames(buffer, options.work, tally);
    while (buffer.has_answer()) {
      if (write_some(socket, buffer).did != CallOutcome::kDone) return;
    }
    if (last == FrameState::kTooLong) return;
  }
}

void serve_and_count(int socket, ModelRun& run) {
  Tally tally;
  serve_to_the_end(socket, run.options, tally);
  run.statistics.add(tally);
}

void count_one(Statistics& statistics, uint64_t Tally::* what) {
  Tally tally;
  tally.*what = 1;
  statistics.add(tally);
}

void serve_one_after_another(int listener, ModelRun& run, BlockedThreads* sleepers) {
  while (const Fd client = accept_next(listener, run.statistics, sleepers)) {
    std::optional<BlockedThreads::Place> place;
    if (sleepers != nullptr) place.emplace(*sleepers, client.get());
    serve_and_count(client.get(), run);
  }
}

}  // namespace peal::models
