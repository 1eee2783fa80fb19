// SPDX-License-Identifier: BSD-3-Clause
// peal_callbacks: the service of all models, written with peal's callbacks. It runs on any engine.
//
//   a loop:  engine: epoll │ io_uring │ poll │ select ──> on_message(connection, input)
//                                                          take whole frames ─> work ─> send
//                 ^                 what was sent leaves in one piece <─────────┘  when the callback returns
//
// peal accepts, reads and writes on the loop's thread. The callback computes on that thread too. With one worker there
// is one loop, on the main thread. With several workers, each has its own loop, thread and listener (SO_REUSEPORT). A
// connection never leaves the loop that accepted it. A request that computes or sleeps delays every other connection of
// its loop.
//
// A frame is sent from the memory in which it arrived, without a copy. LoopClients (common/peal_service.h) closes slow
// connections.
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
