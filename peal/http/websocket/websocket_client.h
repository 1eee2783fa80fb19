// SPDX-License-Identifier: BSD-3-Clause
// WebSocketClient: connects to a WebSocket server (RFC 6455 4.1), with the deadlines, retries and reconnecting of
// Client, and hands over a WebSocket.
//
//   peal::WebSocketClient client(loop, {.on_open = [](peal::WebSocket& socket) { socket.send_text("hello"); }});
//   auto connecting = client.connect("ws://example.com/chat");
//
// wss goes over WebSocketClientOptions::layer, TLS say, and the server must prove to be the URL's host. Used, and
// destroyed, as Client is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <peal/base/callback.h>
#include <peal/http/websocket/websocket.h>
#include <peal/net/client.h>
#include <peal/wire/http/http_request_text.h>

namespace peal {

struct WebSocketClientOptions {
  WebSocketOptions socket = {};
  std::vector<std::string> protocols = {};                // subprotocols offered, the most wanted first
  std::string origin = {};                                // for servers that want one; browsers send their page's
  std::vector<HttpRequestField> fields = {};              // more of the request: Authorization, Cookie, ...
  Duration handshake_timeout = std::chrono::seconds(10);  // from the connection to the server's answer
  const StreamLayer* layer = nullptr;                     // of wss; it outlives the client. Null: no wss
  ClientOptions client = {};                              // what is said there of a layer is for ws alone
};

// Why there is no WebSocket.
struct WebSocketFailure {
  std::error_code error;  // what connecting failed with; EPROTO: the handshake; ETIMEDOUT: it took too long
  int status = 0;         // what the server answered instead of 101; 0: nothing
  std::string why;        // a phrase
  Duration next_attempt_in = Client::kNoRetry;
};

class WebSocketClient {
 public:
  using Failed = Callback<void(const WebSocketFailure&)>;

  WebSocketClient(Loop& loop, WebSocketCallbacks callbacks, const WebSocketClientOptions& options = {},
                  Failed on_failed = {});
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  // Starts connecting, once in the client's life, to "ws://host[:port]/path?query", or wss://. EINVAL: no such URL, or
  // options that cannot be sent; EPROTONOSUPPORT: wss without a layer; EALREADY; Trouble::kLoopStopped.
  Result<void> connect(std::string_view url);
  // Gives up connecting and reconnecting; an open socket is closed with kNormal.
  void stop();

 private:
  struct State;

  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<State> state_;
  const std::unique_ptr<Client> client_;
  const std::unique_ptr<Client> client_of_wss_;  // null: no layer
};

}  // namespace peal
