// SPDX-License-Identifier: BSD-3-Clause
// ConnectionCallbacks: what a Server or Client calls for its connections. CloseReason: why a connection has ended.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>

namespace peal {

class Connection;

enum class CloseReason : uint8_t {
  kLocal,          // close()
  kAborted,        // abort()
  kPeerClosed,     // the peer's FIN
  kReset,          // the peer's RST: ECONNRESET, EPIPE
  kFailed,         // any other error of the socket, or of the layer it runs over; see Connection::error()
  kTruncated,      // the peer ended inside a message: without the end mark of the layer that the connection runs over,
                   // or with input that on_message had left as incomplete
  kInputLimit,     // the callback left more than input_limit_bytes unconsumed
  kOutputLimit,    // more than output_limit_bytes were queued
  kLingerTimeout,  // the peer had everything, and did not end within linger_timeout
  kPipeEnded,      // the connection it was piped to ended
  kMemoryBudget,   // the process was above its hard mark (memory_budget.h) and this one asked for more, or held most
  kCallbackThrew,  // an exception left a callback of this connection
  kLoopStopped,    // the loop ended
  kIdle,           // idle_timeout
  kReadTooSlow,    // read_window
  kWriteTooSlow,   // write_window
  kNeitherRead,    // write_window, while this side did not read either: both may have waited for the other to read
  kEvicted,        // the server was full, and this one idle for longest
  kDrainDeadline,  // Server::drain ran out of time
  kSendRefused,    // what was sent from another thread found the loop's mailbox full (LoopOptions::post_limit)
  kBadMessage,     // the peer sent a message that breaks its protocol: Connection::refuse(); error() says which rule
};
std::string_view to_string(CloseReason reason);

// Shared by all connections of a Server or Client. Each is called on the connection's loop. None is required.
template <template <class> class Slot>
struct BasicConnectionCallbacks {
  Slot<void(Connection&)> on_open = nullptr;
  // Bytes arrived. Consume what is complete; the rest is kept and shown again with what arrives next.
  Slot<void(Connection&, Buffer& input)> on_message = nullptr;
  // Output that had crossed the high-water mark has drained to half of it, or has failed: can_send() tells.
  Slot<void(Connection&)> on_writable = nullptr;
  // The peer sent FIN and will send no more. With this set, the connection stays open for sending until close().
  // Without it the connection ends: with kPeerClosed, or with kTruncated if on_message has left input unconsumed.
  Slot<void(Connection&)> on_peer_end = nullptr;
  // The server drains: close() when all is done. Without it a connection closes once it has no unconsumed input.
  Slot<void(Connection&)> on_drain = nullptr;
  // For a protocol that reads when it wants to, as a coroutine does: whether it waits for input now. Asked before the
  // connection is closed for being idle, slow, or without work in a drain. Without it, it always waits. With it, full
  // output does not pause receiving by default.
  Slot<bool(const Connection&)> awaits_input = nullptr;
  // start_layer() is done: what is sent and received from now on goes over the layer.
  Slot<void(Connection&)> on_secured = nullptr;
  Slot<void(Connection&, CloseReason)> on_close = nullptr;

  // Those of several loops do for one, too.
  template <class One>
    requires(std::same_as<One, BasicConnectionCallbacks<Callback>> && !std::same_as<One, BasicConnectionCallbacks>)
  operator One() && {
    return {std::move(on_open),  std::move(on_message),   std::move(on_writable), std::move(on_peer_end),
            std::move(on_drain), std::move(awaits_input), std::move(on_secured),  std::move(on_close)};
  }
};
// Of one loop: on its thread only.
using ConnectionCallbacks = BasicConnectionCallbacks<Callback>;
// Of several loops, which call them on several threads at once: no `mutable` lambda is taken. What changes is kept in
// the connection's context, or guarded.
using SharedConnectionCallbacks = BasicConnectionCallbacks<SharedCallback>;

}  // namespace peal
