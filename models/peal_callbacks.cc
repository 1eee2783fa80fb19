// SPDX-License-Identifier: BSD-3-Clause
// peal_callbacks: the same service written with peal, on whichever engine.
//
//   a loop:  engine: epoll │ io_uring │ poll │ select ──> on_message(connection, input)
//                                                          take whole frames ─> work ─> send
//                 ^                 what was sent leaves in one piece <─────────┘  when the callback returns
//
// Who accepts, reads and writes: peal, on the loop's thread. Who computes: the callback, there too. Work never changes
// hands. With one worker there is one loop, on the main thread; with more each has a thread and a listener of its own
// (SO_REUSEPORT), and a connection stays where it was accepted. A request that computes or sleeps holds up every other
// connection of its loop.
// The bytes of a frame stay in the block they arrived in and leave from it; the slow are cut off by peal's own
// deadlines.
#include <utility>

#include <models/common/peal_service.h>
#include <models/common/work.h>
#include <models/models.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::models {
namespace {

void answer(Connection& connection, Buffer& input, const ModelOptions& options) {
  auto& client = connection.context<PealClient>();
  const LengthFraming framing{.limit_bytes = options.max_body_bytes};
  Buffer frame;
  FrameState state = FrameState::kMore;
  while ((state = framing.next_frame(input, frame)) == FrameState::kWhole) {
    do_work(options.work);
    ++client.tally.requests;
    connection.send(std::move(frame));
  }
  client.in_frame = input.holds_blocks();
  if (state == FrameState::kMore) return;
  ++client.tally.too_large;
  connection.refuse(trouble_of(state));
}

SharedConnectionCallbacks callbacks_of(PealLoops& loops, const ModelOptions& options) {
  return {.on_open =
              [&loops](Connection& connection) {
                connection.emplace_context<PealClient>(loops.clients_of(connection), connection);
              },
          .on_message = [&options](Connection& connection, Buffer& input) { answer(connection, input, options); }};
}

}  // namespace

Result<void> peal_callbacks(ModelRun& run) {
  Result<std::unique_ptr<PealLoops>> loops = PealLoops::make(run);
  if (!loops) return std::unexpected(loops.error());
  return (*loops)->serve(run, [&](auto& loop_or_group, const ServerOptions& options) {
    return std::make_unique<Server>(loop_or_group, callbacks_of(**loops, run.options), options);
  });
}

}  // namespace peal::models
