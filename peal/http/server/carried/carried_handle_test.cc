// SPDX-License-Identifier: BSD-3-Clause
// Tests handles of several exchanges of one connection: each handle reaches its own exchange.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <peal/http/server/parts/memory_carrier_test.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using detail::HttpCore;
using detail::HttpServerSession;
using detail::MemoryRequest;
using detail::MemoryStreams;

// Each byte that a client sends is a request for "/<byte>". The answers stay in memory.
class CarriedHandleTest : public test::NetTest {
 protected:
  void serve_streams() {
    Router router;
    router.get("/{name}", [this](HttpExchange& exchange) {
      handles_.emplace(exchange.parameter("name"), exchange.handle());
      exchange.on_abandoned([this](HttpExchange&) { ++abandoned_; });
    });
    core_ = std::make_shared<HttpCore>(std::move(router), HttpServerOptions{});
    core_->add(loop());
    const auto streams_of = [](Connection& connection) -> MemoryStreams& {
      return static_cast<MemoryStreams&>(connection.context<HttpServerSession>());
    };
    server_ = serve({.on_open =
                         [this](Connection& connection) {
                           auto streams = std::make_unique<MemoryStreams>(core_);
                           streams->connection = &connection;
                           connection.adopt_context(std::unique_ptr<HttpServerSession>(std::move(streams)));
                         },
                     .on_message =
                         [this, streams_of](Connection& connection, Buffer& input) {
                           for (const char byte : input.to_string()) {
                             asked_.emplace(byte, streams_of(connection).ask(std::string("GET /") + byte));
                           }
                           input.clear();
                         },
                     .on_close = [streams_of](Connection& connection,
                                              CloseReason reason) { streams_of(connection).closed(reason); }});
  }
  void TearDown() override {
    server_.reset();
    ask([&] { handles_.clear(); });  // handles keep the mailbox alive
    core_.reset();
    test::NetTest::TearDown();
  }
  HttpExchangeHandle handle_of(const std::string& name) {
    return ask([&] { return handles_.at(name); });
  }
  testing::AssertionResult answered(char name, const std::string& body) {
    return wait_until([this, name, body] { return asked_.at(name)->released && asked_.at(name)->body() == body; });
  }

  std::shared_ptr<HttpCore> core_;
  std::unique_ptr<Server> server_;
  // Only the loop uses the following members.
  std::map<std::string, HttpExchangeHandle> handles_;
  std::map<char, MemoryRequest> asked_;
  int abandoned_ = 0;
};

TEST_P(CarriedHandleTest, each_reaches_its_own_exchange_from_another_thread_and_none_after_its_end) {
  serve_streams();
  RawPeer peer = connect_peer();
  peer.send("abc");
  ASSERT_TRUE(wait_until([&] { return handles_.size() == 3; }));
  const HttpExchangeHandle b = handle_of("b");
  EXPECT_TRUE(b.respond(200, "", "of b"));
  ASSERT_TRUE(answered('b', "of b"));
  EXPECT_EQ(ask([&] { return asked_.at('a')->status + asked_.at('c')->status; }), 0);
  EXPECT_TRUE(b.respond(200, "", "again"));
  EXPECT_TRUE(handle_of("c").run([](HttpExchange& exchange) { exchange.respond(200, "", "of c"); }));
  EXPECT_TRUE(handle_of("a").respond(200, "", "of a"));
  ASSERT_TRUE(answered('a', "of a"));
  ASSERT_TRUE(answered('c', "of c"));
  ASSERT_TRUE(answered('b', "of b"));
  EXPECT_EQ(ask([&] { return abandoned_; }), 0);
}

TEST_P(CarriedHandleTest, connection_that_goes_abandons_all_and_handles_do_nothing_more) {
  serve_streams();
  RawPeer peer = connect_peer();
  peer.send("ab");
  ASSERT_TRUE(wait_until([&] { return handles_.size() == 2; }));
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return abandoned_ == 2; }));
  handle_of("a").respond(200, "", "too late");
  handle_of("b").respond(200, "", "too late");
  ask([] {});
  EXPECT_EQ(ask([&] { return asked_.at('a')->status + asked_.at('b')->status; }), 0);
}

PEAL_TEST_ON_EVERY_ENGINE(CarriedHandleTest);

}  // namespace
}  // namespace peal
