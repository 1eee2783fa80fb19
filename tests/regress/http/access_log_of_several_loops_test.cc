// SPDX-License-Identifier: BSD-3-Clause
// Each loop of an HTTP server gathered the log lines of its own answers and wrote them once a second. So in the log of
// a server on several loops, the line of an early answer could stand behind the line of a late one. Now all loops share
// one list of lines.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include <peal/http/server/http_server.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class AccessLogOfSeveralLoops : public test::NetTest {};
PEAL_TEST_ON_EVERY_PORT(AccessLogOfSeveralLoops);

TEST_P(AccessLogOfSeveralLoops, lines_stand_in_the_order_of_the_answers) {
  constexpr int kRequests = 30;
  std::string lines;  // one thread at a time writes to it
  auto group = LoopGroup::start(3, group_options()).value();
  Router router;
  router.get("/{number}", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "ok"); });
  auto server =
      std::make_unique<HttpServer>(*group, std::move(router),
                                   HttpServerOptions{.accept = AcceptMode::kRoundRobin,
                                                     .layer = group_server().connection.layer,
                                                     .access_log = [&](std::string_view more) { lines += more; }});
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  std::array<RawPeer, 3> peers;  // the connection of each peer is on a loop of its own
  for (RawPeer& peer : peers) peer.connect(address);
  std::string expected;
  for (int number = 0; number < kRequests; ++number) {
    RawPeer& peer = peers[static_cast<size_t>(number) % peers.size()];
    const size_t before = peer.received().size();
    peer.send("GET /" + std::to_string(number) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    ASSERT_TRUE(wait_until([&] { return peer.pump() && peer.received().size() > before; }));
    expected += std::to_string(number) + " ";
  }
  server.reset();
  std::string order;
  for (size_t at = lines.find("\"GET /"); at != lines.npos; at = lines.find("\"GET /", at + 1)) {
    order += lines.substr(at + 6, lines.find(' ', at + 6) - at - 6) + " ";
  }
  EXPECT_EQ(order, expected);
}

}  // namespace
}  // namespace peal
