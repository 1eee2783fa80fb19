// SPDX-License-Identifier: BSD-3-Clause
// A handler that never answered left its request hanging for ever, because no deadline covered the handler. This had
// three causes:
// - The handler was a coroutine in a callback's place, which compiled and never ran.
// - The reply that the handler waited for was lost.
// - The handler was a coroutine that waited for a client that had gone.
//
// Now a handler has answer_timeout. After that the client gets 503.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::StartsWith;

const std::string kAsk = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

// A client that stores what it receives, and when the first bytes came.
class Asker {
 public:
  Asker(test::SimPair& pair, const SocketAddress& server, const std::string& request)
      : client_(*pair.there, {.on_open =
                                  [this, request](Connection& connection) {
                                    connection.send(request);
                                    handle = connection.handle();
                                  },
                              .on_message =
                                  [this, &pair](Connection&, Buffer& input) {
                                    if (heard.empty()) first = pair.world.now();
                                    heard += input.view();
                                    input.clear();
                                  },
                              .on_close = [this](Connection&, CloseReason) { closed = true; }}),
        begin_(pair.world.now()) {
    EXPECT_TRUE(client_.connect(server));
  }
  Duration waited() const { return first - begin_; }

  std::string heard;
  TimePoint first{};
  bool closed = false;
  ConnectionHandle handle;

 private:
  Client client_;
  const TimePoint begin_;
};

class HandlerThatNeverAnswers : public test::SimTest {
 protected:
  static Router routes(HttpHandler handler) {
    Router router;
    router.any("/", std::move(handler));
    router.get("/alive", [](HttpExchange& exchange) { exchange.respond(200, "", "alive;"); });
    return router;
  }
  static void expect_503(test::SimPair& pair, HttpServer& server, Asker& asker, Duration after) {
    ASSERT_TRUE(pair.run_until([&] { return asker.heard.find("\r\n\r\n") != std::string::npos; }));
    EXPECT_THAT(asker.heard, StartsWith("HTTP/1.1 503 "));
    EXPECT_GE(asker.waited(), after);
    EXPECT_LT(asker.waited(), after + seconds(2));
    EXPECT_EQ(server.stats().answer_timeouts, 1U);
    EXPECT_EQ(server.stats().abandoned, 0U);
  }
};

TEST_F(HandlerThatNeverAnswers, is_answered_with_503_and_the_connection_goes_on) {
  on_seeds(50, rough(), [&](test::SimPair& pair) {
    HttpExchangeHandle late;
    int abandoned = 0;
    HttpServer server(*pair.here, routes([&](HttpExchange& exchange) {
      late = exchange.handle();
      exchange.on_abandoned([&](HttpExchange& its) {
        ++abandoned;
        its.respond(200, "", "too late");
      });
    }));
    Asker asker(pair, pair.listen(server), kAsk);
    expect_503(pair, server, asker, seconds(60));
    EXPECT_EQ(abandoned, 1);
    late.respond(200, "", "too late");
    asker.handle.send("GET /alive HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(pair.run_until([&] { return asker.heard.ends_with("alive;"); })) << asker.heard;
    EXPECT_EQ(test::count_of(asker.heard, "HTTP/1.1 "), 2U);
  });
}

TEST_F(HandlerThatNeverAnswers, is_cancelled_if_it_is_a_coroutine) {
  on_seeds(50, rough(), [&](test::SimPair& pair) {
    std::string ended;
    HttpServer server(*pair.here, routes([&](HttpExchange& exchange) -> Task<> {
      const Result<void> slept = co_await sleep(std::chrono::hours(100));
      ended = slept ? "slept" : slept.error() == std::errc::operation_canceled ? "cancelled" : "?";
      exchange.respond(200, "", "too late");
    }));
    Asker asker(pair, pair.listen(server), kAsk + "GET /alive HTTP/1.1\r\nHost: h\r\n\r\n");
    expect_503(pair, server, asker, seconds(60));
    ASSERT_TRUE(pair.run_until([&] { return asker.heard.ends_with("alive;"); })) << asker.heard;
    EXPECT_EQ(ended, "cancelled");
  });
}

// The time counts only while the server waits for the handler, not while the body arrives.
TEST_F(HandlerThatNeverAnswers, gets_its_time_from_the_end_of_the_body) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here,
                      routes([](HttpExchange& exchange) { exchange.read_body([](HttpExchange&, std::string&&) {}); }),
                      {.min_body_bytes = 1});
    Asker asker(pair, pair.listen(server), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n");
    pair.there->every(seconds(5), [&, left = 20]() mutable {
      if (left-- > 0) asker.handle.send("x");
    });
    expect_503(pair, server, asker, seconds(160));
  });
}

TEST_F(HandlerThatNeverAnswers, is_not_a_handler_that_has_begun_its_answer) {
  on_seeds(20, rough(), [&](test::SimPair& pair) {
    HttpServer server(*pair.here, routes([](HttpExchange& exchange) -> Task<> {
      (void)co_await sleep(seconds(59));
      exchange.begin(200);
      for (int i = 0; i < 10; ++i) {
        (void)co_await sleep(seconds(59));
        exchange.write("still here;");
      }
    }));
    Asker asker(pair, pair.listen(server), "GET / HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(pair.run_until([&] { return asker.closed; }));
    EXPECT_EQ(test::count_of(asker.heard, "still here;"), 10U);
    EXPECT_EQ(server.stats().answer_timeouts, 0U);
  });
}

TEST_F(HandlerThatNeverAnswers, may_take_for_ever_without_an_answer_timeout) {
  on_seeds(5, rough(), [&](test::SimPair& pair) {
    HttpExchangeHandle late;
    HttpServer server(*pair.here, routes([&](HttpExchange& exchange) { late = exchange.handle(); }),
                      {.answer_timeout = {}});
    Asker asker(pair, pair.listen(server), kAsk);
    pair.run_for(minutes(30));
    EXPECT_EQ(asker.heard, "");
    late.respond(200, "", "at last;");
    ASSERT_TRUE(pair.run_until([&] { return asker.heard.ends_with("at last;"); }));
  });
}

class HandlerThatNeverAnswersHere : public test::HttpTest {};

TEST_P(HandlerThatNeverAnswersHere, is_answered_with_503) {
  serve(Router([](HttpExchange& exchange) { exchange.close_after(); }),
        {.answer_timeout = std::chrono::milliseconds(20)});
  EXPECT_THAT(answer_to(kAsk), StartsWith("HTTP/1.1 503 "));
  EXPECT_EQ(server().stats().answer_timeouts, 1U);
}

PEAL_TEST_ON_EVERY_PORT(HandlerThatNeverAnswersHere);

}  // namespace
}  // namespace peal
