// SPDX-License-Identifier: BSD-3-Clause
// The objects that WebSockets share. WebSocketCore belongs to all sockets of one endpoint or client, on all loops.
// WebSocketLoopState belongs to those sockets of one core that run on one loop.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <peal/http/websocket/parts/websocket_carrier.h>
#include <peal/http/websocket/websocket.h>

namespace peal::detail {

// Draws random keys for the masks of a client's frames. The keys must be unpredictable (RFC 6455 5.3, 10.3), so they
// come from the kernel. 64 keys are fetched at a time to save system calls.
class WebSocketKeys {
 public:
  // Returns a mask key.
  uint32_t next();

  // Returns a value for the Sec-WebSocket-Key field: base64 of 16 random bytes (RFC 6455 4.1).
  std::string handshake_key();

 private:
  std::array<uint32_t, 64> keys_;
  size_t left_ = 0;  // how many of keys_ have not been used
};

// Memory that all sockets of one endpoint or client on the same loop use in turn. It is used on the loop's thread only.
struct WebSocketLoopState {
  WebSocketWorkspace workspace;
  WebSocketKeys keys;
  // Compressors without context takeover. The index is the size of their window in bits. Each is created for the first
  // message that needs it.
  std::array<std::unique_ptr<WebSocketDeflater>, 16> deflaters;
};

// The callbacks and options of one endpoint or client, and the memory that its sockets share.
class WebSocketCore {
 public:
  // Throws std::invalid_argument if message_limit_bytes, or window_bits, level or least_bytes of deflate, is out of
  // range. This is so even if compression is not enabled.
  WebSocketCore(WebSocketCallbacks its_callbacks, const WebSocketOptions& its_options);

  // Returns the state for `loop`, which the first call creates. The state is destroyed with this WebSocketCore. Must be
  // called on the thread of `loop`.
  WebSocketLoopState& loop_state(Loop& loop);

  WebSocketCallbacks callbacks;
  const WebSocketOptions options;

 private:
  std::mutex mutex_;
  std::vector<std::pair<Loop*, std::unique_ptr<WebSocketLoopState>>> loop_states_;  // guarded by mutex_
};

// The object that all handles of one socket share. The object outlives the socket as long as there is a handle.
struct WebSocketReach {
  const ConnectionHandle connection;
  const bool owns_connection;  // WebSocketCarrier::owns_connection()
  WebSocket* socket;           // read and written on the loop's thread only; null after the socket is destroyed
};

// Holds a WebSocket for the code that owns its carrier. That code calls opened() once, passes the carrier's events on
// by the other functions, and calls closed() last.
class WebSocketDriver {
 public:
  WebSocketDriver(std::shared_ptr<WebSocketCore> core, WebSocketCarrier& carrier, WebSocketRole role,
                  std::string protocol, const std::optional<WebSocketDeflateTerms>& deflate)
      : socket_(std::move(core), carrier, role, std::move(protocol), deflate) {}

  void opened() { socket_.opened(); }
  void received(Buffer& input) { socket_.received(input); }
  void writable() { socket_.writable(); }
  void peer_ended() { socket_.peer_ended(); }
  void drained() { socket_.drained(); }
  void closed(CloseReason reason) { socket_.closed(reason); }
  WebSocketHandle handle() { return socket_.handle(); }

  // True if this side reset the connection because the peer missed a deadline. Either the peer did not answer a ping,
  // or it did not close the connection after its Close frame.
  bool cut_off() const { return socket_.cut_off_; }

 private:
  WebSocket socket_;
};

}  // namespace peal::detail
