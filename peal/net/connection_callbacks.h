// SPDX-License-Identifier: BSD-3-Clause
// ConnectionCallbacks: the functions that a Server or Client calls for its connections. CloseReason: why a connection
// has ended.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <utility>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>

namespace peal {

class Connection;

// Why a connection has ended, passed to on_close. to_string() returns a phrase for logs.
enum class CloseReason : uint8_t {
  kLocal,          // close() was called
  kAborted,        // abort() was called
  kPeerClosed,     // the peer sent FIN
  kReset,          // the peer sent RST: ECONNRESET, EPIPE
  kFailed,         // the socket, or the layer it runs over, failed with another error; see Connection::error()
  kTruncated,      // the peer ended inside a message: its layer's end mark was missing, or on_message had left input
  kInputLimit,     // on_message left more than input_limit_bytes unconsumed
  kOutputLimit,    // more than output_limit_bytes were queued
  kLingerTimeout,  // the peer acknowledged everything, but did not send FIN within linger_timeout
  kPipeEnded,      // the connection that it was piped to ended
  kMemoryBudget,   // memory was above a mark (memory_budget.h), and this connection held most or wanted more
  kCallbackThrew,  // an exception left a callback of this connection
  kLoopStopped,    // the loop ended
  kIdle,           // nothing happened for idle_timeout
  kReadTooSlow,    // the peer sent less than min_read_bytes in a read_window
  kWriteTooSlow,   // the peer took less than min_write_bytes in a write_window
  kNeitherRead,    // as kWriteTooSlow, while this side did not read either: each may have waited for the other to read
  kEvicted,        // the server was full, and this connection had been idle for longest
  kDrainDeadline,  // the connection was still open at the deadline of Server::drain()
  kSendRefused,    // the loop's mailbox was full and refused a send from another thread (LoopOptions::post_limit)
  kBadMessage,     // the peer broke its protocol: Connection::refuse() was called; error() says which rule
};
std::string_view to_string(CloseReason reason);

// The callbacks that all connections of a Server or Client share. They are called on the connection's loop. Any of them
// may be left unset.
template <template <class> class Slot>
struct BasicConnectionCallbacks {
  // Called when the connection has opened. If the connection has a layer, the call comes after the layer's handshake.
  Slot<void(Connection&)> on_open = nullptr;
  // Called when bytes have arrived. Consume the complete messages from `input`. The bytes that are left are kept, and
  // on_message is called with them again when more bytes have arrived.
  Slot<void(Connection&, Buffer& input)> on_message = nullptr;
  // Called when output that was above the high-water mark has drained to half of that mark. Also called when sending
  // has failed; can_send() is false then.
  Slot<void(Connection&)> on_writable = nullptr;
  // Called when the peer has sent FIN and will send nothing more. If this callback is set, the connection stays open
  // for sending until close(). If on_peer_end is unset, the connection ends with kPeerClosed, or with kTruncated if
  // on_message has left input unconsumed.
  Slot<void(Connection&)> on_peer_end = nullptr;
  // Called when the server drains (Server::drain()). The callback must call close() as soon as all work is done. If
  // on_drain is unset, the connection is closed once it has no unconsumed input.
  Slot<void(Connection&)> on_drain = nullptr;
  // Returns whether the protocol waits for input now. Must be set by a protocol that reads only when it wants to, as a
  // coroutine does. Called before the connection is closed as too slow, evicted as idle from a full server, closed as
  // finished in a drain, or reset because of input_limit_bytes. An end by idle_timeout does not depend on this
  // callback. If awaits_input is unset, the connection always waits for input. If awaits_input is set, receiving does
  // not pause by default while much output is queued (WhenOutputIsFull).
  Slot<bool(const Connection&)> awaits_input = nullptr;
  // Called when the handshake of start_layer() has succeeded. All later input and output goes over the layer.
  Slot<void(Connection&)> on_secured = nullptr;
  // Called exactly once for each connection that on_open was called for, as its last callback. Not called after the
  // Server or Client was destroyed.
  Slot<void(Connection&, CloseReason)> on_close = nullptr;

  // Moves the functions of a SharedConnectionCallbacks into a ConnectionCallbacks, for a Server or Client of one loop.
  template <class One>
    requires(std::same_as<One, BasicConnectionCallbacks<Callback>> && !std::same_as<One, BasicConnectionCallbacks>)
  operator One() && {
    return {std::move(on_open),  std::move(on_message),   std::move(on_writable), std::move(on_peer_end),
            std::move(on_drain), std::move(awaits_input), std::move(on_secured),  std::move(on_close)};
  }
};
// Callbacks for connections of one loop, which are called only on that loop's thread.
using ConnectionCallbacks = BasicConnectionCallbacks<Callback>;
// Callbacks for connections of several loops, which call them on several threads at once. A `mutable` lambda does not
// compile as such a callback. State that changes must be in the connection's context or guarded by a lock.
using SharedConnectionCallbacks = BasicConnectionCallbacks<SharedCallback>;

}  // namespace peal
