// SPDX-License-Identifier: BSD-3-Clause
// An HTTP handler called emplace_context() on the connection of its exchange, to keep an object of its own there. This
// destroyed the HTTP session, which was the context of the connection. The handler then returned into the session: a
// use after free. Now the context of a protocol cannot be replaced, and an attempt stops the process with a message
// that says so. The engine does not matter here, so the tests run on the simulator only.
#include <memory>
#include <string>

#include <peal/http/server/http_server.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr const char* kTold = "belongs to its protocol";

class Tunnel final : public UpgradeHandler {
 public:
  void on_data(Connection& connection, Buffer& input) override {
    input.clear();
    connection.emplace_context<std::string>("mine");
  }
};

// Lets a client send `bytes` to `server`, and runs both for a second.
template <class Server>
void ask(test::SimPair& pair, Server& server, std::string_view bytes) {
  Client client(*pair.there, {.on_open = [&](Connection& connection) { connection.send(bytes); }});
  EXPECT_TRUE(client.connect(pair.listen(server)));
  pair.run_for(std::chrono::seconds(1));
}

TEST(ContextOfAProtocolDeathTest, is_not_replaced_by_a_handler_of_http) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  test::SimPair pair(1, {});
  Router router;
  router.get("/", [](HttpExchange& exchange) {
    exchange.connection().emplace_context<std::string>("mine");
    exchange.respond(200);
  });
  HttpServer server(*pair.here, std::move(router));
  EXPECT_DEATH(ask(pair, server, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"), kTold);
}

TEST(ContextOfAProtocolDeathTest, is_not_replaced_by_an_upgrade_handler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  test::SimPair pair(1, {});
  Router router;
  router.get("/", [](HttpExchange& exchange) { exchange.upgrade("other", std::make_unique<Tunnel>()); });
  HttpServer server(*pair.here, std::move(router));
  EXPECT_DEATH(ask(pair, server, "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\nmore"),
               kTold);
}

// A context that is the user's own may be replaced.
TEST(ContextOfAProtocol, does_not_protect_the_context_of_callbacks) {
  test::SimPair pair(1, {});
  std::string last;
  Server server(*pair.here, {.on_message = [&](Connection& connection, Buffer& input) {
    input.clear();
    connection.emplace_context<int>(1);
    last = connection.emplace_context<std::string>("mine");
  }});
  ask(pair, server, "?");
  EXPECT_EQ(last, "mine");
}

}  // namespace
}  // namespace peal
