// SPDX-License-Identifier: BSD-3-Clause
// What the WebSockets of one endpoint or client share, on all loops (WebSocketCore) and on one (WebSocketLoopState).
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

// Keys of masks, drawn from the kernel's generator (RFC 6455 5.3 and 10.3: not to be foreseen), many at a time.
class WebSocketKeys {
 public:
  uint32_t next();
  // For Sec-WebSocket-Key: base64 of 16 random bytes (RFC 6455 4.1).
  std::string handshake_key();

 private:
  std::array<uint32_t, 64> keys_;
  size_t left_ = 0;
};

struct WebSocketLoopState {
  WebSocketWorkspace workspace;
  WebSocketKeys keys;
  // For messages that refer to none before, by the bits of their window; made when first wanted.
  std::array<std::unique_ptr<WebSocketDeflater>, 16> deflaters;
};

class WebSocketCore {
 public:
  WebSocketCore(WebSocketCallbacks its_callbacks, const WebSocketOptions& its_options);

  // Of that loop, for as long as this; on its thread.
  WebSocketLoopState& loop_state(Loop& loop);

  WebSocketCallbacks callbacks;
  const WebSocketOptions options;

 private:
  std::mutex mutex_;
  std::vector<std::pair<Loop*, std::unique_ptr<WebSocketLoopState>>> loop_states_;  // guarded by the mutex
};

// How handles reach a socket, also when it is gone.
struct WebSocketReach {
  const ConnectionHandle connection;
  const bool owns_connection;  // WebSocketCarrier::owns_connection()
  WebSocket* socket;           // on its loop; null: gone
};

// A WebSocket for its maker, which passes its carrier's events on to it.
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
  // Whether it ended because the peer was silent.
  bool cut_off() const { return socket_.cut_off_; }

 private:
  WebSocket socket_;
};

}  // namespace peal::detail
