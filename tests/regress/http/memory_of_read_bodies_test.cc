// SPDX-License-Identifier: BSD-3-Clause
// A thousand clients each posted 1 MiB to a handler with read_body(), and left. Two seconds later the process still
// held 1 GiB. Each exchange kept the string in which it had gathered the body, for the next request, and the exchanges
// were kept to be used again. No limit covered this memory, and neither did the memory budget, which counts blocks. An
// assignment does not free the memory of a string: `text = {}` keeps it, and so does assigning a new value to the
// struct around it.
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/base/memory/memory_budget.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/http_server.h>
#include <tests/support/allocated_bytes.h>
#include <tests/support/http_rig.h>
#include <tests/support/sanitized.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr size_t kBodyBytes = 256 * 1024;
constexpr size_t kClients = kSanitized ? 16 : 48;
constexpr size_t kAllBodies = kBodyBytes * kClients;

class MemoryOfReadBodies : public test::HttpTest {
 protected:
  // Returns the allocated bytes that the memory budget does not count. All clients have gone, so these bytes belong to
  // no connection.
  static size_t uncounted() { return test::allocated_bytes() - MemoryBudget::held_bytes(); }

  // Handlers that look at the body and leave it in the exchange.
  static Router lookers() {
    Router router;
    router.post("/callback", [](HttpExchange& exchange) {
      exchange.read_body([](HttpExchange& its, std::string&& body) {
        its.respond(200, "", fmt::format("had {} bytes;", body.size()));
      });
    });
    router.post("/coroutine", [](HttpExchange& exchange) -> Task<> {
      const Result<std::string> body = co_await exchange.read_all();
      if (body) exchange.respond(200, "", fmt::format("had {} bytes;", body->size()));
    });
    return router;
  }
  static std::string head(std::string_view path) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", path, kBodyBytes);
  }
  // Returns kClients clients. Each has sent its whole request except the last byte.
  std::vector<RawPeer> posters(std::string_view path) {
    const uint64_t before = server().stats().request_body_bytes;
    const std::string most = head(path) + std::string(kBodyBytes - 1, '#');
    std::vector<RawPeer> peers;
    peers.reserve(kClients);
    for (size_t i = 0; i < kClients; ++i) {
      peers.push_back(peer());
      EXPECT_TRUE(send_all(peers.back(), most));
    }
    const uint64_t sent = before + kClients * (kBodyBytes - 1);
    EXPECT_TRUE(wait_until([&] { return server().stats().request_body_bytes >= sent; }));
    return peers;
  }
  void go(std::vector<RawPeer>& peers) {
    for (RawPeer& each : peers) each.close();
    EXPECT_TRUE(wait_until([&] { return server().connections() == 0; }));
  }
  void post_all(std::string_view path) {
    std::vector<RawPeer> peers = posters(path);
    for (RawPeer& each : peers) each.send("#");
    for (RawPeer& each : peers) EXPECT_TRUE(hears(each, fmt::format("had {} bytes;", kBodyBytes)));
    go(peers);
  }
};

TEST_P(MemoryOfReadBodies, is_freed_when_they_have_been_read) {
  serve(lookers());
  for (const std::string_view path : {"/callback", "/coroutine"}) {
    const size_t before = uncounted();
    post_all(path);
    EXPECT_LT(uncounted(), before + kAllBodies / 8) << path;
  }
}

TEST_P(MemoryOfReadBodies, is_freed_when_their_clients_leave_early) {
  serve(lookers());
  for (const std::string_view path : {"/callback", "/coroutine"}) {
    const size_t before = uncounted();
    std::vector<RawPeer> peers = posters(path);
    go(peers);
    EXPECT_LT(uncounted(), before + kAllBodies / 8) << path;
  }
}

TEST_P(MemoryOfReadBodies, is_counted_while_they_are_gathered) {
  serve(lookers());
  post_all("/callback");  // allocates the blocks that the next rounds use
  for (const std::string_view path : {"/callback", "/coroutine"}) {
    const uint64_t before = MemoryBudget::held_bytes();
    std::vector<RawPeer> peers = posters(path);
    EXPECT_GT(MemoryBudget::held_bytes(), before + kAllBodies * 7 / 8) << path;
    go(peers);
    EXPECT_LT(MemoryBudget::held_bytes(), before + kAllBodies / 8) << path;
  }
}

TEST_P(MemoryOfReadBodies, is_refused_above_the_hard_mark) {
  serve(lookers());
  uint64_t refused = 0;
  for (const std::string_view path : {"/callback", "/coroutine"}) {
    std::vector<RawPeer> peers = posters(path);
    MemoryBudget::set({.soft_bytes = kAllBodies / 2 - 1, .hard_bytes = kAllBodies / 2});
    RawPeer late = peer();
    late.send(head(path) + std::string(16 * 1024, '#'));
    EXPECT_THAT(all_of(late), testing::StartsWith("HTTP/1.1 503 ")) << path;
    EXPECT_EQ(server().stats().over_budget, ++refused);
    MemoryBudget::set(MemoryBudget::default_marks());
    late.close();
    go(peers);
    post_all(path);
  }
}

// Long fields, trailers and paths also take memory that an exchange could keep.
TEST_P(MemoryOfReadBodies, leaves_little_in_exchanges_that_are_used_again) {
  Router router;
  router.any("/{path*}", [](HttpExchange& exchange) {
    exchange.set_field("X-Long", std::string(6000, 'f'));
    exchange.read_body([](HttpExchange& its, std::string&&) { its.respond(200, "", "read;"); });
  });
  serve(std::move(router), {.limits = {.trailer_bytes = 32 * 1024}});
  const std::string request =
      fmt::format("POST /{}%20 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n#\r\n0\r\nT: {}\r\n\r\n",
                  std::string(6000, 'p'), std::string(20'000, 't'));
  std::vector<RawPeer> peers;
  peers.reserve(kClients);
  for (size_t i = 0; i < kClients; ++i) {
    peers.push_back(peer());
    peers.back().send(request);
    EXPECT_TRUE(hears(peers.back(), "read;"));
  }
  go(peers);
  EXPECT_LT(server().stats().kept_bytes, kClients * 8192);
}

PEAL_TEST_ON_EVERY_PORT(MemoryOfReadBodies);

class MemoryOfFetchedBodies : public test::SimTest {};

// The client counts and refuses bodies in the same way.
TEST_F(MemoryOfFetchedBodies, is_counted_and_refused_above_the_hard_mark) {
  on_seeds(1, SimOptions{}, [](test::SimPair& pair) {
    ConnectionHandle asked;
    Server server(*pair.here, {.on_message = [&](Connection& connection, Buffer& input) {
      input.clear();
      asked = connection.handle();
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n");
    }});
    const SocketAddress address = pair.listen(server);
    pair.here->every(std::chrono::milliseconds(1), [&] {
      if (asked) asked.send(std::string(8192, '#'));
    });
    HttpClient client(*pair.there);
    std::optional<std::error_code> error;
    ASSERT_TRUE(client.fetch(HttpClientRequest("http://" + address.to_string() + "/"),
                             [&](const Result<HttpResponse>& answer) { error = test::error_of(answer); }));
    ASSERT_TRUE(pair.run_until([&] { return static_cast<bool>(asked); }));
    pair.run_for(std::chrono::milliseconds(100));
    const uint64_t held = MemoryBudget::held_bytes();
    EXPECT_FALSE(error);
    MemoryBudget::set({.soft_bytes = held + 128 * 1024, .hard_bytes = held + 256 * 1024});
    ASSERT_TRUE(pair.run_until([&] { return error.has_value(); }));
    EXPECT_EQ(*error, errno_code(ENOMEM));
  });
}

}  // namespace
}  // namespace peal
