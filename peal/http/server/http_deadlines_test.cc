// SPDX-License-Identifier: BSD-3-Clause
// Tests the timeouts of an HttpServer on the simulator, whose clock does not have to wait.
#include <optional>

#include <gmock/gmock.h>

#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>
#include <tests/support/sim_rig.h>
#include <tests/support/websocket_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::BytePeer;
using testing::HasSubstr;
using testing::StartsWith;

class HttpDeadlinesTest : public test::SimTest {
 protected:
  static Router routes() {
    Router router;
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "hello"); });
    router.post("/", [](HttpExchange& exchange) {
      exchange.read_body(
          [](HttpExchange& read, std::string&& body) { read.respond(200, "", std::to_string(body.size())); });
    });
    return router;
  }
  // Lets the client send one byte of `text` in each `period`, until the server closes the connection.
  static void drip(test::SimPair& pair, BytePeer& client, std::string text, Duration period) {
    pair.there->every(period, [&client, text = std::move(text), at = size_t{0}]() mutable {
      if (client.ended || !client.connected()) return;
      client.send(text.substr(at++ % text.size(), 1));
    });
  }
  // Returns how long the server keeps the connection of a client that behaves as `play` does.
  Duration stands(test::SimPair& pair, BytePeer& client) {
    const TimePoint begin = pair.world.now();
    EXPECT_TRUE(pair.run_until([&] { return client.ended; }));
    return pair.world.now() - begin;
  }
};

TEST_F(HttpDeadlinesTest, head_that_drips_is_cut_off_however_long_it_goes_on_dripping) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes(), {.head_timeout = seconds(15)});
    BytePeer client(*pair.there, pair.listen(server));
    drip(pair, client, "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(1000, 'x'), milliseconds(500));
    const Duration stood = stands(pair, client);
    EXPECT_GE(stood, seconds(15));
    EXPECT_LT(stood, seconds(17));
    EXPECT_THAT(client.received, StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
    EXPECT_EQ(server.stats().head_timeouts, 1u);
  });
}

TEST_F(HttpDeadlinesTest, client_that_says_nothing_at_all_is_closed_without_a_word) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes());
    BytePeer client(*pair.there, pair.listen(server));
    EXPECT_LT(stands(pair, client), seconds(17));
    EXPECT_EQ(client.received, "");
  });
}

TEST_F(HttpDeadlinesTest, connection_between_requests_is_closed_after_the_idle_timeout_of_the_last_one) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes(), {.idle_timeout = seconds(60)});
    const std::string request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    BytePeer client(*pair.there, pair.listen(server), {}, request);
    pair.run_for(seconds(50));
    client.send(request);
    pair.run_for(seconds(55));
    EXPECT_FALSE(client.ended);
    EXPECT_EQ(test::count_of(client.received, "hello"), 2u);
    EXPECT_LT(stands(pair, client), seconds(7));
    EXPECT_EQ(server.stats().idle_timeouts, 1u);
    EXPECT_EQ(server.stats().head_timeouts, 0u);
  });
}

TEST_F(HttpDeadlinesTest, second_request_that_drips_has_the_time_of_a_head_and_no_more) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes());
    BytePeer client(*pair.there, pair.listen(server), {}, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET");
    EXPECT_LT(stands(pair, client), seconds(17));
    EXPECT_THAT(client.received, HasSubstr("hello"));
    EXPECT_THAT(client.received, HasSubstr("HTTP/1.1 408 "));
  });
}

TEST_F(HttpDeadlinesTest, body_that_comes_too_slowly_is_cut_off_and_one_that_is_slow_but_steady_is_not) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes(), {.body_window = seconds(10), .min_body_bytes = 4});
    const SocketAddress address = pair.listen(server);
    const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";
    BytePeer slow(*pair.there, address, {}, head);
    drip(pair, slow, "x", seconds(4));
    BytePeer steady(*pair.there, address, {}, head);
    drip(pair, steady, "y", seconds(1));
    EXPECT_LT(stands(pair, slow), seconds(23));
    EXPECT_THAT(slow.received, StartsWith("HTTP/1.1 408 "));
    ASSERT_TRUE(pair.run_until([&] { return steady.received.ends_with("\r\n\r\n100"); })) << steady.received;
    EXPECT_EQ(server.stats().body_timeouts, 1u);
  });
}

TEST_F(HttpDeadlinesTest, body_has_an_end_of_its_own_where_that_is_asked_for) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes(),
                      {.body_window = seconds(5), .min_body_bytes = 1, .body_timeout = seconds(30)});
    BytePeer client(*pair.there, pair.listen(server), {}, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    drip(pair, client, "x", seconds(1));
    const Duration stood = stands(pair, client);
    EXPECT_GE(stood, seconds(30));
    EXPECT_LT(stood, seconds(37));
  });
}

TEST_F(HttpDeadlinesTest, handler_that_takes_its_time_and_a_body_it_does_not_want_are_waited_for) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    std::optional<HttpExchangeHandle> waiting;
    Router router;
    router.post("/", [&](HttpExchange& exchange) { waiting = exchange.handle(); });
    HttpServer server(*pair.here, std::move(router), {.answer_timeout = {}});
    BytePeer client(*pair.there, pair.listen(server), {},
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nab");
    pair.run_for(std::chrono::minutes(10));
    EXPECT_FALSE(client.ended);
    ASSERT_TRUE(waiting);
    waiting->respond(200, "", "done");
    ASSERT_TRUE(pair.run_until([&] { return client.received.ends_with("done"); })) << client.received;
    waiting.reset();
  });
}

TEST_F(HttpDeadlinesTest, client_that_reads_nothing_of_its_answers_is_cut_off) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    Router router;
    const std::string large(1'000'000, 'l');
    router.get("/", [&](HttpExchange& exchange) { exchange.respond(200, "", large); });
    HttpServer server(*pair.here, std::move(router), {.send_window = seconds(20)});
    BytePeer client(*pair.there, pair.listen(server), {}, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(pair.run_until([&] { return client.connected(); }));
    client.connection().run([](Connection& connection) { connection.pause(); });
    ASSERT_TRUE(pair.run_until([&] { return server.connections() == 0; }));
    EXPECT_EQ(server.stats().send_timeouts, 1u);
  });
}

TEST_F(HttpDeadlinesTest, headers_without_end_are_refused_and_hold_no_more_than_a_head) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes());
    BytePeer client(*pair.there, pair.listen(server), {}, "GET / HTTP/1.1\r\nHost: a\r\n");
    pair.there->every(milliseconds(1), [&] {
      if (!client.ended) client.send("X-More: " + std::string(500, 'm') + "\r\n");
    });
    ASSERT_TRUE(pair.run_until([&] { return client.ended; }));
    EXPECT_THAT(client.received, StartsWith("HTTP/1.1 431 "));
    EXPECT_LE(BlockPool::here().stats().bytes_in_use, 1'000'000u);
    EXPECT_EQ(server.stats().too_large, 1u);
  });
}

}  // namespace
}  // namespace peal
