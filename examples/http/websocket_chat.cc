// SPDX-License-Identifier: BSD-3-Clause
// A chat room in the browser: http://127.0.0.1:8083/ is the page, /chat is the room.
//   websocket_chat [ADDRESS [ENGINE [PAGE_ADDRESS [CERTIFICATE KEY]]]]
// PAGE_ADDRESS is the address of the inspector. If it is "-", the default, there is no inspector. With a certificate,
// the room uses https and wss. Only one loop uses the set of members, so the set needs no lock. Each message is framed
// and compressed once for all members.
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
      // send() returns false if the member reads so slowly that more output is queued than the high-water mark. The
      // room disconnects that member, because each further message would also be queued in memory. send() also returns
      // false if the member is already being disconnected. A second close() does nothing.
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
  // Quoted in docs: [endpoint]
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&](WebSocket& member) { room.enter(member); };
  callbacks.on_message = [&](WebSocket&, WebSocketKind, std::string_view text) { room.say(text); };
  callbacks.on_close = [&](WebSocket& member, uint16_t, std::string_view) { room.leave(member); };
  router.get("/chat", WebSocketEndpoint(std::move(callbacks), {.socket = room.options}));
  // End of quote: [endpoint]
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
