// SPDX-License-Identifier: BSD-3-Clause
// Duration::max() means "never" in each option that is a time. The sum of it and the current time overflowed, and what
// was never to end was over at once:
// - A reader was reset after 10 ms, when it had 4,096 of 3,000,000 bytes.
// - A client that paused was answered 408.
// - The request of a handler that took its time was answered 503.
// - A kept-alive connection was closed as idle.
//
// A window of zero was over at once too. Now it means that there is no such limit.
#include <string>

#include <gmock/gmock.h>

#include <peal/http/server/http_server.h>
#include <tests/support/engine_rig.h>
#include <tests/support/sim_rig.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using std::chrono::seconds;

class TimesWithoutEnd : public test::SimTest {
 protected:
  // Sends 3 MB to a client that reads for minutes, and ends gracefully. Expects that the client gets all of it.
  void expect_all_read(const ConnectionOptions& times) {
    on_seeds(3, {}, [&](test::SimPair& pair) {
      const std::string answer = pattern(3'000'000);
      Server server(*pair.here,
                    {.on_open =
                         [&](Connection& connection) {
                           connection.send(answer);
                           connection.close();
                         }},
                    {.connection = times});
      std::string heard;
      CloseReason reason = CloseReason::kLocal;
      Client client(*pair.there, {.on_message =
                                      [&](Connection& connection, Buffer& input) {
                                        heard += input.to_string();
                                        input.clear();
                                        connection.pause();
                                        pair.there->after(seconds(1), [handle = connection.handle()] {
                                          handle.run([](Connection& here) { here.resume(); });
                                        });
                                      },
                                  .on_close = [&](Connection&, CloseReason why) { reason = why; }});
      ASSERT_TRUE(client.connect(pair.listen(server)));
      EXPECT_TRUE(pair.run_until([&] { return reason != CloseReason::kLocal; }));
      EXPECT_EQ(reason, CloseReason::kPeerClosed);
      EXPECT_TRUE(same_bytes(heard, answer));
    });
  }
};

TEST_F(TimesWithoutEnd, of_a_connection) {
  constexpr Duration kEver = Duration::max();
  expect_all_read({.linger_timeout = kEver,
                   .idle_timeout = kEver,
                   .min_read_bytes = 1,
                   .read_window = kEver,
                   .min_write_bytes = 1'000'000,
                   .write_window = kEver});
}

TEST_F(TimesWithoutEnd, windows_of_zero_are_no_limit) {
  expect_all_read({.min_read_bytes = 1, .read_window = {}, .min_write_bytes = 1'000'000, .write_window = {}});
}

TEST_F(TimesWithoutEnd, of_an_http_server) {
  constexpr Duration kEver = Duration::max();
  HttpServerOptions options;
  options.head_timeout = options.idle_timeout = options.body_window = options.body_timeout = kEver;
  options.answer_timeout = options.drain_grace = options.send_window = kEver;
  on_seeds(3, {}, [&](test::SimPair& pair) {
    Router router;
    router.post("/", [&](HttpExchange& exchange) {
      exchange.read_body([&](HttpExchange& whole, std::string&& body) {
        pair.here->after(seconds(30), [handle = whole.handle(), body] { handle.respond(200, "", body + ";"); });
      });
    });
    HttpServer server(*pair.here, std::move(router), options);
    std::string heard;
    ConnectionHandle handle;
    Client client(*pair.there, {.on_open = [&](Connection& connection) { handle = connection.handle(); },
                                .on_message = test::hearing(heard)});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    for (const std::string_view part : {"POST / HTTP/1.1\r\n", "Host: a\r\nContent-Length: 3\r\n\r\n", "a", "bc",
                                        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"}) {
      pair.run_for(seconds(40));
      pair.there->post([&handle, part] { handle.send(part); });
    }
    EXPECT_TRUE(pair.run_until([&] { return heard.ends_with("\r\n\r\n;"); }));
    EXPECT_THAT(heard, testing::HasSubstr("\r\n\r\nabc;HTTP/1.1 200 OK\r\n"));
  });
}

TEST_F(TimesWithoutEnd, of_a_websocket) {
  constexpr Duration kEver = Duration::max();
  WebSocketEndpointOptions options;
  options.socket.ping_interval = options.socket.pong_timeout = kEver;
  options.socket.idle_timeout = options.socket.close_timeout = kEver;
  on_seeds(1, {}, [&](test::SimPair& pair) {
    WebSocketCallbacks callbacks;
    callbacks.on_message = [](WebSocket& socket, WebSocketKind, std::string_view) { socket.close(1000); };
    Router router;
    router.get("/ws", WebSocketEndpoint(std::move(callbacks), options));
    HttpServer server(*pair.here, std::move(router), {});
    const test::BytePeer peer(*pair.there, pair.listen(server));
    const auto heard = [&] { return peer.frames(); };
    ASSERT_TRUE(pair.run_until([&] { return peer.connected(); }));
    peer.send(
        "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    pair.run_for(std::chrono::hours(50));
    EXPECT_EQ(heard(), "") << "a ping was sent at once";
    peer.send(test::client_frame(WebSocketOpcode::kText, "over"));
    pair.run_for(std::chrono::hours(50));
    EXPECT_EQ(heard(), test::server_frame(WebSocketOpcode::kClose, std::string_view("\x03\xe8", 2)));
    EXPECT_FALSE(peer.ended) << "the server waits for the peer's Close frame";
  });
}

}  // namespace
}  // namespace peal
