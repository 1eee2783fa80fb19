// SPDX-License-Identifier: BSD-3-Clause
// HTTP gathers some input outside of its connections: request bodies that are read as a whole, answers that are
// collected, and messages of a WebSocket. The memory budget counted these bytes, but did not know to which connection
// they belonged. So it ended other connections, which held little. And a connection in the middle of a message was
// evicted as idle. Now the bytes count for their connection.
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <peal/base/memory/block_pool.h>
#include <peal/base/memory/memory_budget.h>
#include <peal/http/client/http_client.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using test::BytePeer;

constexpr size_t kGathered = 8 * 1024 * 1024;
constexpr size_t kCame = kGathered / 2;
constexpr size_t kBallast = 16 * 1024 * 1024;
constexpr size_t kLittle = 1024 * 1024;
const std::string kHandshake =
    "GET /ws HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
constexpr Duration kLongWait = std::chrono::seconds(50);

class GatheredBodiesCountForTheirConnection : public test::SteppedLoopTest {
 protected:
  void TearDown() override {
    large_.reset();
    small_.reset();
    newcomer_.reset();
    server_.reset();
    SteppedLoopTest::TearDown();
  }
  void serve(const HttpServerOptions& options = {}) {
    Router router;
    router.post("/callback", [](HttpExchange& exchange) {
      exchange.read_body([](HttpExchange& its, std::string&&) { its.respond(200, "", "read"); });
    });
    router.post("/coroutine", [](HttpExchange& exchange) -> Task<> {
      const Result<std::string> body = co_await exchange.read_all();
      if (body) exchange.respond(200, "", "read");
    });
    router.get("/little", [](HttpExchange& exchange) { exchange.respond(200, "", std::string(kLittle, 'l')); });
    WebSocketCallbacks callbacks;
    callbacks.on_open = [this](WebSocket& socket) { socket_ = &socket; };
    callbacks.on_close = [this](WebSocket&, uint16_t, std::string_view) { socket_ = nullptr; };
    callbacks.on_message = [this](WebSocket&, WebSocketKind, std::string_view) { ++messages_; };
    router.get("/ws", WebSocketEndpoint(std::move(callbacks), {.socket = {.message_limit_bytes = kGathered}}));
    HttpServerOptions all = options;
    all.limits.body_bytes = kGathered;
    all.listen.socket.send_buffer_bytes = 16 * 1024;
    server_ = std::make_unique<HttpServer>(loop(), std::move(router), all);
    address_ = server_->listen("127.0.0.1:0").value();
  }
  std::unique_ptr<BytePeer> connect() {
    auto peer = std::make_unique<BytePeer>(loop(), address_);
    EXPECT_TRUE(run_until([&] { return peer->connected(); }, kLongWait));
    return peer;
  }
  // Returns how many bytes of the body have come, or, for a WebSocket, how many bytes of its connection.
  uint64_t came() const {
    return socket_ != nullptr ? socket_->connection().received_bytes() : server_->stats().request_body_bytes;
  }
  // Sends `head` and kCame bytes after it on a new connection. Expects that the server gathers at least half of them.
  void gather(std::string_view head) {
    large_ = connect();
    const uint64_t before = came();
    const uint64_t held = MemoryBudget::held_bytes();
    large_->send(head);
    for (size_t sent = 0; sent < kCame; sent += 64 * 1024) large_->send(std::string(64 * 1024, 'm'));
    ASSERT_TRUE(run_until([&] { return came() - before >= kCame; }, kLongWait));
    settle();
    EXPECT_GE(MemoryBudget::held_bytes(), held + kCame / 2);
  }
  void post(std::string_view path) {
    gather(fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", path, kGathered));
  }
  // Begins the message of a WebSocket, in a frame of kGathered bytes that is masked with zeros.
  void begin_message() {
    std::string begin = kHandshake;
    begin += std::string("\x82\xff\0\0\0\0", 6);
    for (int shift = 24; shift >= 0; shift -= 8) begin += static_cast<char>(kGathered >> shift & 255);
    begin += std::string("\0\0\0\0", 4);
    gather(begin);
  }
  // Opens a connection that asks for an answer and does not read it. The connection itself holds this answer, so the
  // memory budget always knew whose it was.
  void hold_little() {
    small_ = connect();
    small_->connection().run([](Connection& connection) { connection.pause(); });
    small_->send("GET /little HTTP/1.1\r\nHost: h\r\n\r\n");
    settle();
  }
  // Sets the memory budget so that the process holds `bytes` too much, and waits until a connection or a fetch has
  // ended.
  void be_short_of(size_t bytes) {
    BlockPool::here().trim();
    const uint64_t held = MemoryBudget::held_bytes() + kBallast;
    MemoryBudget::set({.soft_bytes = held - bytes - 1024, .hard_bytes = held - bytes});
    Buffer ballast;  // the budget is checked when a pool grows
    while (MemoryBudget::held_bytes() < held) ballast.append(std::string(64 * 1024, 'b'));
    const size_t before = server_->connections();
    EXPECT_TRUE(run_until([&] { return server_->connections() < before || error_; }, kLongWait));
    settle();
    // A peer that does not read may not notice its end, so the server's count is used.
    EXPECT_EQ(server_->connections(), error_ ? before : before - 1);
  }
  void expect_that_the_large_one_ends() {
    hold_little();
    be_short_of(kCame / 2);
    EXPECT_TRUE(run_until([&] { return large_->ended; }, kLongWait));
  }

  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<BytePeer> large_;
  std::unique_ptr<BytePeer> small_;
  std::unique_ptr<BytePeer> newcomer_;
  SocketAddress address_;
  WebSocket* socket_ = nullptr;
  size_t messages_ = 0;
  std::optional<std::error_code> error_;  // how a client's fetch ended
};

TEST_P(GatheredBodiesCountForTheirConnection, in_a_callback) {
  serve();
  post("/callback");
  expect_that_the_large_one_ends();
}

TEST_P(GatheredBodiesCountForTheirConnection, in_a_coroutine) {
  serve();
  post("/coroutine");
  expect_that_the_large_one_ends();
}

TEST_P(GatheredBodiesCountForTheirConnection, in_a_websocket) {
  serve();
  begin_message();
  expect_that_the_large_one_ends();
}

TEST_P(GatheredBodiesCountForTheirConnection, until_they_have_been_read) {
  serve();
  for (const std::string_view path : {"/callback", "/coroutine"}) {
    post(path);
    for (size_t sent = kCame; sent < kGathered; sent += 64 * 1024) large_->send(std::string(64 * 1024, 'm'));
    ASSERT_TRUE(run_until([&] { return large_->received.ends_with("read"); }, kLongWait));
    EXPECT_EQ(server_->stats().over_budget, 0u);
  }
  // The large connection holds nothing any more. Now the small one holds most.
  hold_little();
  be_short_of(kLittle / 4);
  EXPECT_FALSE(large_->ended);
}

TEST_P(GatheredBodiesCountForTheirConnection, in_a_client) {
  serve();
  Connection* asked = nullptr;
  Server answers(loop(), {.on_message = [&](Connection& connection, Buffer& input) {
                   input.clear();
                   if (asked != nullptr) return;
                   asked = &connection;
                   connection.send(fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kGathered));
                   for (size_t sent = 0; sent < kCame; sent += 64 * 1024) connection.send(std::string(64 * 1024, 'm'));
                 }});
  const SocketAddress where = answers.listen("127.0.0.1:0").value();
  HttpClient client(loop());
  const uint64_t before = MemoryBudget::held_bytes();
  ASSERT_TRUE(
      client.fetch(HttpClientRequest("http://" + where.to_string() + "/"),
                   [&](const Result<HttpResponse>& answer) { error_ = answer ? std::error_code() : answer.error(); }));
  ASSERT_TRUE(run_until([&] { return asked != nullptr && asked->queued_bytes() == 0; }, kLongWait));
  EXPECT_TRUE(run_until([&] { return MemoryBudget::held_bytes() >= before + kCame / 2; }, kLongWait));
  hold_little();
  be_short_of(kCame / 2);
  EXPECT_TRUE(error_);
}

TEST_P(GatheredBodiesCountForTheirConnection, and_a_connection_that_sends_one_is_not_idle) {
  serve({.max_connections = 1});
  begin_message();
  newcomer_ = std::make_unique<BytePeer>(loop(), address_);
  ASSERT_TRUE(run_until([&] { return large_->ended || server_->server().stats().refused > 0; }, kLongWait));
  EXPECT_FALSE(large_->ended);
  // When the message is complete, the connection is idle.
  for (size_t sent = kCame; sent < kGathered; sent += 64 * 1024) large_->send(std::string(64 * 1024, 'm'));
  ASSERT_TRUE(run_until([&] { return messages_ == 1; }, kLongWait));
  settle();
  newcomer_ = std::make_unique<BytePeer>(loop(), address_);
  EXPECT_TRUE(run_until([&] { return large_->ended; }, kLongWait));
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(GatheredBodiesCountForTheirConnection);

}  // namespace
}  // namespace peal
