// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/websocket/websocket_endpoint.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <peal/http/websocket/parts/websocket_shared.h>
#include <peal/wire/websocket/websocket_handshake.h>

namespace peal {
namespace {

// A WebSocket on a connection that an HttpServer has upgraded. Passes the connection's events to the WebSocket.
class ServedWebSocket final : public UpgradeHandler {
 public:
  ServedWebSocket(std::shared_ptr<detail::WebSocketCore> core, std::string protocol,
                  const std::optional<WebSocketDeflateTerms>& deflate)
      : core_(std::move(core)), protocol_(std::move(protocol)), deflate_(deflate) {}

  void on_start(Connection& connection) override {
    carrier_.emplace(connection);
    driver_.emplace(std::move(core_), *carrier_, WebSocketRole::kServer, std::move(protocol_), deflate_);
    driver_->opened();
  }
  void on_data(Connection&, Buffer& input) override { driver_->received(input); }
  void on_writable(Connection&) override { driver_->writable(); }
  void on_peer_end(Connection&) override { driver_->peer_ended(); }
  void on_drain(Connection&) override { driver_->drained(); }
  void on_close(Connection&, CloseReason reason) override { driver_->closed(reason); }

 private:
  std::shared_ptr<detail::WebSocketCore> core_;
  std::string protocol_;
  std::optional<WebSocketDeflateTerms> deflate_;
  // carrier_ and driver_ are empty until on_start() is called.
  std::optional<detail::WebSocketConnection> carrier_;
  std::optional<detail::WebSocketDriver> driver_;
};

}  // namespace

struct WebSocketEndpoint::State {
  std::shared_ptr<detail::WebSocketCore> core;
  std::vector<std::string> protocols;
  std::vector<std::string> origins;
};

WebSocketEndpoint::WebSocketEndpoint(WebSocketCallbacks callbacks, const WebSocketEndpointOptions& options)
    : state_(std::make_shared<State>(std::make_shared<detail::WebSocketCore>(std::move(callbacks), options.socket),
                                     options.protocols, options.origins)) {}

void WebSocketEndpoint::operator()(HttpExchange& exchange) const {
  const HttpRequestHead& request = exchange.request();
  WebSocketRequestFields fields;
  for (const HttpField field : request.fields()) fields.take(field);
  auto refusal = fields.refusal(request.method() == HttpMethod::kGet && !request.has_body(), request.minor_version());
  if (!refusal && !state_->origins.empty() && !fields.origin().empty() &&
      std::ranges::find(state_->origins, fields.origin()) == state_->origins.end()) {
    refusal = WebSocketRefusal{.status = 403, .why = "pages of this origin may not connect"};
  }
  if (refusal) {
    if (refusal->status == 426) {
      exchange.set_field("Upgrade", "websocket");
      exchange.set_field("Sec-WebSocket-Version", kWebSocketVersion);
    }
    return exchange.respond(refusal->status, "text/plain", refusal->why + "\n");
  }
  exchange.set_field("Sec-WebSocket-Accept", websocket_accept(fields.key()));
  const std::string_view protocol = fields.choose_protocol(state_->protocols);
  if (!protocol.empty()) exchange.set_field("Sec-WebSocket-Protocol", protocol);
  std::optional<WebSocketDeflateTerms> deflate;
  if (const auto choice = choose_websocket_deflate(fields.extensions(), state_->core->options.deflate)) {
    exchange.set_field("Sec-WebSocket-Extensions", choice->answer);
    deflate = choice->terms;
  }
  exchange.upgrade("websocket", std::make_unique<ServedWebSocket>(state_->core, std::string(protocol), deflate));
}

}  // namespace peal
