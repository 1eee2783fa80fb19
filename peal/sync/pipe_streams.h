// SPDX-License-Identifier: BSD-3-Clause
// co_await pipe(a, b): joins two streams until both have ended: a relay.
//
//   peal::Task<> relay(peal::Stream client, std::string upstream) {
//     auto server = co_await peal::connect(upstream);
//     if (!server) co_return;
//     co_await peal::pipe(client, *server);
//   }
//
// As pipe() of two connections (peal/net/pipe.h): both directions, each with its FIN sent on, backpressure from the
// slower side, in the kernel where that can be. What was read into the streams and not taken goes first.
#pragma once

#include <peal/coro/stream.h>
#include <peal/coro/task.h>
#include <peal/net/pipe.h>

namespace peal {

// Answers how many bytes went each way, once both connections are gone; their close_reason() tells how they ended. If
// each peer has ended in order, read() answers the end of the input: an empty Buffer. Nobody may wait in either stream
// when it begins, nor read from one until it has ended. Cancelled, or too late (`pipe(a, b).within(1h)`), both are
// aborted, and the answer is that error. ENOTCONN: one has ended, or starts its layer; EXDEV: they belong to different
// loops; ESHUTDOWN: the server or client of one was destroyed.
Task<Result<PipeReport>> pipe(Stream& a, Stream& b, PipeOptions options = {});

}  // namespace peal
