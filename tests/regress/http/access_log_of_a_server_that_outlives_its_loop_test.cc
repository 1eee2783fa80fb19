// SPDX-License-Identifier: BSD-3-Clause
// An HttpServer may be destroyed after its loop. If lines of its access log were still to be written, its destructor
// asked the loop, which was gone, to cancel the timer that writes them.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/http/server/http_server.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class AccessLogOutlivesTheLoop : public test::NetTest {};

TEST_P(AccessLogOutlivesTheLoop, its_last_lines_are_still_written) {
  std::string lines;
  std::optional<HttpServer> server;
  ask([&] {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200); });
    server.emplace(loop(), std::move(router),
                   HttpServerOptions{.access_log = [&lines](std::string_view more) { lines += more; }});
  });
  RawPeer peer = RawPeer::connected(server->listen("127.0.0.1:0").value());
  peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return peer.pump() && peer.received().starts_with("HTTP/1.1 200 "); }));
  destroy_loop();
  server.reset();
  EXPECT_NE(lines.find("\"GET / HTTP/1.1\" 200"), std::string::npos) << lines;
}

PEAL_TEST_ON_EVERY_PORT(AccessLogOutlivesTheLoop);

}  // namespace
}  // namespace peal
