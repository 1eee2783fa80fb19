// SPDX-License-Identifier: BSD-3-Clause
// A graceful end considered only the output that was queued in user space. When the kernel had all of it, the
// connection was reset unless the peer's FIN came within five seconds. The reset destroyed what a slow reader had not
// fetched yet: of a 3 MB answer with `Connection: close`, 2.1 MB arrived. Now a peer that keeps reading gets everything
// and then the FIN, whatever ends the connection gracefully. The write window limits how slowly the peer may read, and
// linger_timeout limits how long it may wait with its own FIN.

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

// kSilence is much longer than a closing connection of these tests waits for the peer's FIN.
constexpr Duration kLingerTimeout = milliseconds(20);
constexpr Duration kSilence = 10 * kLingerTimeout;

// A server that answers `request` and then ends the connection. `address` is where it listens.
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
  // Returns a peer that has sent its request and does not read yet.
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

// 400 KB fit into the kernel's buffers, 20 MB do not.
TEST_P(GracefulCloseWaits, for_a_peer_that_reads_late) {
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

// The peer has everything, so the wait for its FIN ends at linger_timeout. The end is not a reset, because the peer may
// still be reading.
TEST_P(GracefulCloseWaits, for_the_fin_no_longer_than_linger_timeout) {
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

// Input that arrives during the close is read and dropped. If it stayed unread, the kernel would end the connection by
// a reset.
TEST_P(GracefulCloseWaits, and_drops_what_the_peer_still_sends) {
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

TEST_F(SimGracefulCloseWaits, for_a_peer_that_stops_reading_for_a_while) {
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

// A peer that takes less than min_write_bytes in one write_window is cut off nevertheless, even if the kernel holds the
// rest.
TEST_F(SimGracefulCloseWaits, but_not_for_a_peer_that_reads_nothing) {
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
