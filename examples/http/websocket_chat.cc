// SPDX-License-Identifier: BSD-3-Clause
// A chat room in the browser: http://127.0.0.1:8083/ has the page, /chat is the room. `websocket_chat [ADDRESS [ENGINE
// [PAGE_ADDRESS [CERTIFICATE KEY]]]]`: the page is the inspector's ("-": none); with a certificate the room is at https
// and wss. One loop, so a plain set. Each message is framed and compressed once for everybody.
#include <memory>
#include <set>

#include <examples/http/websocket_chat_page.h>
#include <examples/shared/service.h>

#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <peal/inspect/inspector.h>
#include <peal/tls/tls_server_context.h>

namespace {

class ChatRoom {
 public:
  void enter(peal::WebSocket& member) {
    members_.insert(&member);
    say_how_many();
  }
  void leave(peal::WebSocket& member) {
    members_.erase(&member);
    say_how_many();
  }
  void say(std::string_view text) {
    const peal::WebSocketBroadcast message(peal::WebSocketKind::kText, text, options.deflate);
    for (peal::WebSocket* member : members_) {
      // Who reads more slowly than the room talks is let go, or it would hold all that is said.
      if (!member->send(message)) member->close(peal::WebSocketCode::kTryAgainLater, "you read too slowly");
    }
  }

  const peal::WebSocketOptions options{.message_limit_bytes = 4096, .deflate = {.enabled = true}};

 private:
  void say_how_many() { say(fmt::format("* {} here", members_.size())); }

  std::set<peal::WebSocket*> members_;
};

}  // namespace

int main(int argc, char** argv) {
  using namespace peal;
  ChatRoom room;
  Router router;
  router.get("/",
             [](HttpExchange& exchange) { exchange.respond(200, "text/html; charset=utf-8", examples::kChatPage); });
  // [endpoint]
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& member) { room.enter(member); };
  callbacks.on_message = [&](WebSocket&, WebSocketKind, std::string_view text) { room.say(text); };
  callbacks.on_close = [&](WebSocket& member, uint16_t, std::string_view) { room.leave(member); };
  router.get("/chat", WebSocketEndpoint(std::move(callbacks), {.socket = room.options}));
  // [endpoint]
  auto loop = Loop::make({.engine = examples::argument(argc, argv, 2, "auto")});
  if (!loop) return examples::failed("cannot make a loop", loop.error());
  HttpServerOptions options;
  std::unique_ptr<TlsServerContext> tls;
  if (argc > 5) {
    auto made = TlsServerContext::make(
        {.certificates = {{.chain_file = argv[4], .key_file = argv[5]}}, .applications = {"http/1.1", "http/1.0"}});
    if (!made) {
      fmt::print(stderr, "{}\n", made.error());
      return 1;
    }
    tls = std::move(*made);
    options.layer = tls.get();
  }
  HttpServer server(**loop, std::move(router), options);
  std::unique_ptr<Inspector> inspector;
  if (const std::string page = examples::argument(argc, argv, 3, "-"); page != "-") {
    auto attached = Inspector::attach(server, page);
    if (!attached) return examples::failed("cannot show the page", attached.error());
    inspector = std::move(*attached);
    fmt::print("the inspector listens on {}\n", inspector->address().to_string());
  }
  const std::string address = examples::argument(argc, argv, 1, "127.0.0.1:8083");
  return examples::listen(server.server(), address) ? examples::run(**loop) : 1;
}
