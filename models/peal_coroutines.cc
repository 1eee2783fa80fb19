// SPDX-License-Identifier: BSD-3-Clause
// peal_coroutines: the service of all models, written with peal's coroutines. It runs on the same loops as
// peal_callbacks.
//
//   a loop:  engine: epoll │ io_uring │ poll │ select ──> resumes the connection's coroutine
//                                                              ┌─> co_await read ─> take whole frames ─> work ─┐
//                                                              └────────────────── co_await write <────────────┘
//
// peal accepts, reads and writes on the loop's thread. The connection's coroutine computes on that thread too. The code
// looks like blocking_thread_per_connection, but a reactor runs it: at each co_await, other coroutines may run. A
// connection costs a coroutine frame of some hundred bytes instead of a stack. With several workers, each has its own
// loop, thread and listener. A request that computes or sleeps delays every other connection of its loop. LoopClients
// (common/peal_service.h) closes slow connections.
#include <utility>

#include <models/common/peal_service.h>
#include <models/common/work.h>
#include <models/models.h>
#include <peal/coro/co_server.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::models {
namespace {

// Takes the complete frames out of `input`. For each frame, runs the configured work, then appends the frame to
// `answer`. Stops at the first frame that is incomplete or too long. Returns the state of that frame: kMore or
// kTooLong.
FrameState take_frames(Buffer& input, Buffer& answer, const ModelOptions& options, Tally& tally) {
  const LengthFraming framing{.limit_bytes = options.max_body_bytes};
  Buffer frame;
  FrameState state = FrameState::kMore;
  while ((state = framing.next_frame(input, frame)) == FrameState::kWhole) {
    do_work(options.work);
    ++tally.requests;
    answer.append(std::move(frame));
  }
  if (state == FrameState::kTooLong) ++tally.too_large;
  return state;
}

Task<> serve(Stream stream, PealLoops& loops, const ModelOptions& options) {
  if (stream.connection() == nullptr) co_return;
  PealClient client(loops.clients_of(*stream.connection()), *stream.connection());
  Buffer input;
  for (;;) {
    Result<Buffer> more = co_await stream.read();
    if (!more || more->empty()) co_return;
    input.append(std::move(*more));
    Buffer answer;
    const FrameState state = take_frames(input, answer, options, client.tally);
    client.in_frame = input.holds_blocks();
    if (!answer.empty() && !co_await stream.write(std::move(answer))) co_return;
    if (state == FrameState::kTooLong) co_return;
  }
}

}  // namespace

Result<void> peal_coroutines(ModelRun& run) {
  Result<std::unique_ptr<PealLoops>> loops = PealLoops::make(run);
  if (!loops) return std::unexpected(loops.error());
  return (*loops)->serve(run, [&](auto& loop_or_group, const ServerOptions& options) {
    return std::make_unique<CoServer>(
        loop_or_group, [&](Stream stream) { return serve(std::move(stream), **loops, run.options); }, options);
  });
}

}  // namespace peal::models
