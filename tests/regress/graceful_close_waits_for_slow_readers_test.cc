// SPDX-License-Identifier: BSD-3-Clause
// A graceful end took only the queue in user space for what was still to go. As soon as the kernel had all of it, five
// seconds without the peer's FIN ended in a reset, and that destroyed what a slow reader had not fetched yet: of 3 MB
// with `Connection: close` 2.1 MB arrived. Whatever ends a connection in order, a peer that goes on reading gets
// everything, and the end after it; the write window bounds how slowly, linger_timeout how long it may keep its FIN.

#include <memory>
#include <optional>
#include <string>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Far more than a closing connection of these tests waits for a FIN.
constexpr Duration kLingerTimeout = milliseconds(20);
constexpr Duration kSilence = 10 * kLingerTimeout;

// A server that sends `answer` to whoever asks with `request`, and then ends the connection.
struct Answering {
  std::shared_ptr<void> server;
  SocketAddress address;
  std::string request;
};

ServerOptions lingering() { return {.connection = {.linger_timeout = kLingerTimeout}}; }

Answering by_close(Loop& loop, const std::string& answer) {
  auto server = std::make_shared<Server>(loop,
                                         ConnectionCallbacks{.on_message =
                                                                 [&answer](Connection& connection, Buffer& input) {
                                                                   input.clear();
                                                                   connection.send(answer);
                                                                   connection.close();
                                                                 }},
                                         lingering());
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  return {server, address, "?"};
}

Answering by_drain(Loop& loop, const std::string& answer) {
  auto server = std::make_shared<std::optional<Server>>();
  server->emplace(loop,
                  ConnectionCallbacks{.on_message =
                                          [&answer, drained = server.get()](Connection& connection, Buffer& input) {
                                            input.clear();
                                            connection.send(answer);
                                            (*drained)->drain(seconds(100), [](const DrainReport&) {});
                                          }},
                  lingering());
  const SocketAddress address = (*server)->listen("127.0.0.1:0").value();
  return {server, address, "?"};
}

Answering by_the_end_of_a_task(Loop& loop, const std::string& answer) {
  auto serve = [&answer](Stream stream) -> Task<> {
    if (co_await stream.read()) co_await stream.write(answer);
  };
  auto server = std::make_shared<CoServer>(loop, serve, lingering());
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  return {server, address, "?"};
}

Answering by_http(Loop& loop, const std::string& answer, std::string request) {
  Router router;
  router.get("/", [&answer](HttpExchange& exchange) { exchange.respond(200, "application/octet-stream", answer); });
  auto server =
      std::make_shared<HttpServer>(loop, std::move(router), HttpServerOptions{.linger_timeout = kLingerTimeout});
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  return {server, address, std::move(request)};
}

Answering by_http_1_1(Loop& loop, const std::string& answer) {
  return by_http(loop, answer, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

Answering by_http_1_0(Loop& loop, const std::string& answer) { return by_http(loop, answer, "GET / HTTP/1.0\r\n\r\n"); }

Answering by_websocket(Loop& loop, const std::string& answer) {
  WebSocketCallbacks callbacks;
  callbacks.on_open = [&answer](WebSocket& socket) {
    socket.send(WebSocketKind::kBinary, answer);
    socket.close();
  };
  Router router;
  const WebSocketEndpointOptions options{.socket = {.close_timeout = kLingerTimeout}};
  router.get("/", WebSocketEndpoint(std::move(callbacks), options));
  auto server =
      std::make_shared<HttpServer>(loop, std::move(router), HttpServerOptions{.linger_timeout = kLingerTimeout});
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  return {server, address,
          "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"};
}

using MakeAnswering = Answering (*)(Loop&, const std::string&);
constexpr MakeAnswering kAllKinds[] = {by_close,    by_drain,    by_the_end_of_a_task,
                                       by_http_1_1, by_http_1_0, by_websocket};

std::string answer_of(size_t size) {
  std::string answer(size, '\0');
  for (size_t i = 0; i < size; ++i) answer[i] = static_cast<char>((i * 131 + i / 251) % 253);
  return answer;
}

class GracefulCloseWaits : public test::NetTest {
 protected:
  // Asks, and then reads nothing.
  RawPeer asking_peer(const Answering& answering) {
    RawPeer peer = RawPeer::connected(answering.address, 16'384);
    peer.send(answering.request);
    return peer;
  }
  void wait_for(Duration time) {
    const TimePoint over = monotonic_now() + time;
    ASSERT_TRUE(wait_until([over] { return monotonic_now() > over; }));
  }
};

// 400 KB fit the kernel's buffers, 20 MB do not.
TEST_P(GracefulCloseWaits, for_who_reads_late) {
  for (const size_t size : {400'000, 20'000'000}) {
    const std::string answer = answer_of(size);
    for (MakeAnswering make : kAllKinds) {
      Answering answering = ask([&] { return make(loop(), answer); });
      RawPeer peer = asking_peer(answering);
      ASSERT_NO_FATAL_FAILURE(wait_for(kSilence));
      ASSERT_TRUE(ends(peer));
      EXPECT_EQ(peer.error(), 0) << answering.request;
      EXPECT_NE(peer.received().find(answer), std::string::npos)
          << peer.received().size() << " bytes of an answer of " << size << " to " << answering.request;
      peer.close();
      ask([&] { answering.server.reset(); });
    }
  }
}

// Then it is the linger timeout that counts; it resets nobody, for the peer may still be reading.
TEST_P(GracefulCloseWaits, for_no_fin_of_who_has_everything) {
  const std::string answer = "short";
  ConnectionCallbacks callbacks = journal.callbacks();
  callbacks.on_open = [](Connection& connection) {
    connection.send("short");
    connection.close();
  };
  auto server = serve(std::move(callbacks), lingering());
  RawPeer peer = connect_peer();
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  EXPECT_EQ(journal.lines().front(), "close: the peer did not end in time");
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.error(), 0);
  EXPECT_EQ(peer.received(), answer);
}

// What it sends meanwhile is read and dropped: left unread it would make the end a reset.
TEST_P(GracefulCloseWaits, reading_what_a_talkative_peer_still_sends) {
  const std::string answer = answer_of(3'000'000);
  Answering answering = ask([&] { return by_close(loop(), answer); });
  RawPeer peer = asking_peer(answering);
  const std::string chatter(100'000, 'c');
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(send_all(peer, chatter));
    ASSERT_NO_FATAL_FAILURE(wait_for(milliseconds(1)));
  }
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.error(), 0);
  EXPECT_EQ(peer.received().size(), answer.size());
  peer.close();
  ask([&] { answering.server.reset(); });
}

PEAL_TEST_ON_EVERY_ENGINE(GracefulCloseWaits);

class SimGracefulCloseWaits : public test::SimTest {};

TEST_F(SimGracefulCloseWaits, for_who_stops_reading_for_a_while) {
  const std::string answer = answer_of(200'000);
  for (MakeAnswering make : kAllKinds) {
    on_seeds(30, rough(), [&](test::SimPair& pair) {
      pair.world.options().no_fd = 0;
      const Answering answering = make(*pair.here, answer);
      std::string got;
      std::optional<CloseReason> end;
      Client client(*pair.there, {.on_open = [&](Connection& connection) { connection.send(answering.request); },
                                  .on_message =
                                      [&](Connection& connection, Buffer& input) {
                                        got += input.to_string();
                                        input.clear();
                                        connection.pause();
                                        connection.loop().after(5 * kSilence, [handle = connection.handle()] {
                                          handle.run([](Connection& later) { later.resume(); });
                                        });
                                      },
                                  .on_close = [&](Connection&, CloseReason reason) { end = reason; }});
      ASSERT_TRUE(client.connect(answering.address));
      ASSERT_TRUE(pair.run_until([&] { return end.has_value(); }));
      EXPECT_EQ(*end, CloseReason::kPeerClosed);
      EXPECT_NE(got.find(answer), std::string::npos) << got.size() << " bytes for " << answering.request;
    });
  }
}

// Who takes less than min_write_bytes in a write_window is cut off all the same, also when the kernel holds the rest.
TEST_F(SimGracefulCloseWaits, but_not_for_who_does_not_read_at_all) {
  const std::string answer = answer_of(200'000);
  for (const uint32_t least : {0, 1}) {
    on_seeds(30, rough(), [&](test::SimPair& pair) {
      std::optional<CloseReason> end;
      TimePoint closed{};
      TimePoint ended{};
      ServerOptions options = lingering();
      options.connection.min_write_bytes = least;
      options.connection.write_window = seconds(30);
      Server server(*pair.here,
                    {.on_message =
                         [&](Connection& connection, Buffer& input) {
                           input.clear();
                           connection.send(answer);
                           connection.close();
                           closed = pair.here->now();
                         },
                     .on_close =
                         [&](Connection&, CloseReason reason) {
                           end = reason;
                           ended = pair.here->now();
                         }},
                    options);
      Client client(*pair.there, {.on_open = [](Connection& connection) {
        connection.send("?");
        connection.pause();
      }});
      ASSERT_TRUE(client.connect(pair.listen(server)));
      ASSERT_TRUE(pair.run_until([&] { return end.has_value(); }));
      EXPECT_EQ(*end, CloseReason::kWriteTooSlow);
      EXPECT_GE(ended - closed, seconds(30));
      EXPECT_LE(ended - closed, seconds(61));
    });
  }
}

}  // namespace
}  // namespace peal
