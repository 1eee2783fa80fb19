// SPDX-License-Identifier: BSD-3-Clause
// pipe(a, b): joins two connections, so that each one's input is sent to the other, until both have ended.
//
//   peal::pipe(client, upstream, {}, [](peal::PipeReport report) { log(report.a_to_b_bytes, report.b_to_a_bytes); });
//
// Memory blocks are moved, never copied. If PipeOptions::splice is set and the engine can, the bytes stay in the
// kernel. When the output of one side is above its high-water mark, or its kernel buffer is full, the other side is not
// read.
//
// How a pipe ends. The FIN of one side is sent to the other after all bytes before it. When both sides have sent FIN,
// both close with CloseReason::kPeerClosed. If one side is closed, the other is closed gracefully with
// CloseReason::kPipeEnded. If one side fails, is reset or is aborted, the other is reset with kPipeEnded.
//
// While piped, on_message, on_writable and on_peer_end of both are not called; on_close is called as usual. pause() and
// resume() work. What the user sends is mixed in between the peer's bytes. received_bytes() and sent_bytes() are exact
// in on_close; before that they may lack spliced bytes. An idle pipe costs about 200 bytes, plus what Engine::forward()
// says.
#pragma once

#include <cstdint>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/net/connection.h>

namespace peal {

// Options of pipe().
struct PipeOptions {
  // If true, the bytes are moved inside the kernel (splice(2)) if the engine can do that.
  bool splice = true;
};

// How many bytes a pipe has moved. If the loop ends, bytes that are in the kernel's pipe at that moment are not
// counted.
struct PipeReport {
  uint64_t a_to_b_bytes = 0;
  uint64_t b_to_a_bytes = 0;
};

// Joins `a` and `b`: bytes that one connection receives are sent to the other. Input that on_message has left
// unconsumed is sent first. Asserts that `a` and `b` are two different connections and that neither is piped yet. Fails
// with EXDEV if they belong to different loops, and with ENOTCONN if `a` or `b` is not open or sending to its peer has
// failed.
//
// `on_done` is called on the loop, after on_close of `a` and on_close of `b`. It is not called if the Server or Client
// of `a` or `b` was destroyed before.
Result<void> pipe(Connection& a, Connection& b, const PipeOptions& options = {},
                  Callback<void(PipeReport)> on_done = nullptr);

}  // namespace peal
