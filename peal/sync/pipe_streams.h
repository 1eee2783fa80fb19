// SPDX-License-Identifier: BSD-3-Clause
// co_await pipe(a, b): relays bytes between two streams until both connections have ended.
//
//   peal::Task<> relay(peal::Stream client, std::string upstream) {
//     auto server = co_await peal::connect(upstream);
//     if (!server) co_return;
//     co_await peal::pipe(client, *server);
//   }
//
// The relay works as pipe() of two connections (peal/net/pipe.h). Bytes go in both directions, and the FIN of each side
// is sent on to the other. The slower side slows down the faster one, and bytes stay in the kernel where the engine can
// do that. Input that a stream has received and no coroutine has read goes first.
#pragma once

#include <peal/coro/stream.h>
#include <peal/coro/task.h>
#include <peal/net/pipe.h>

namespace peal {

// Relays bytes between the streams until both connections have ended, then returns how many bytes went each way.
// Stream::close_reason() tells how each connection ended. If both peers have ended in order, a later Stream::read()
// returns an empty Buffer.
//
// No coroutine may wait in either stream when the pipe begins (asserted). No coroutine may read from either stream
// until the pipe has ended. If the await is cancelled or its deadline passes (`pipe(a, b).within(1h)`), both
// connections are aborted. Errors:
// - ENOTCONN: one connection has ended or is ending, or its layer is being started.
// - EXDEV: the streams belong to different loops.
// - ESHUTDOWN: the Server or Client of one stream was destroyed.
// - ETIMEDOUT: the deadline has passed.
// - The reason of the cancellation, if the await was cancelled.
Task<Result<PipeReport>> pipe(Stream& a, Stream& b, PipeOptions options = {});

}  // namespace peal
