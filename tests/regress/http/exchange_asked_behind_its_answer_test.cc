// SPDX-License-Identifier: BSD-3-Clause
// Middleware wrote an access log after `co_await next.run(exchange)`, and asked the exchange for the client's address.
// It got the error "the connection of an exchange is gone", although the connection was alive. 198 of 200 lines were
// missing from the log. A client may send its next request as soon as it is answered, so an exchange let go of its
// connection together with its answer. Now peer_address() works until the exchange ends, and connection() as long as
// the connection lives.
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/sync/async_queue.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::Each;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kGetAsking = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

class ExchangeAskedBehindItsAnswer : public test::HttpTest {
 protected:
  // Returns the client's address, and whether the connection gives the same address. If one of the two is not known,
  // returns its error instead.
  static std::string known(const HttpExchange& exchange) {
    const Result<SocketAddress> peer = exchange.peer_address();
    std::string text = peer ? peer->to_string() : peer.error().message();
    try {
      const Result<SocketAddress> by_connection = exchange.connection().peer_address();
      text += by_connection == peer ? ", connected" : ", another";
    } catch (const std::logic_error& error) {
      text += std::string(", ") + error.what();
    }
    return text;
  }
  void note(const HttpExchange& exchange) { notes.push_back(known(exchange)); }
  HttpMiddleware noting() {
    return [this](HttpExchange& exchange, HttpNext next) -> Task<> {
      co_await next.run(exchange);
      note(exchange);
    };
  }
  // Sends `times` requests on one connection, one after the other.
  void ask_times(size_t times) {
    RawPeer one = peer();
    for (size_t i = 1; i <= times; ++i) {
      one.send(kGetAsking);
      ASSERT_TRUE(hears(one, "\r\n\r\nanswered", i));
    }
    ASSERT_TRUE(wait_until([&] { return notes.size() == times; }));
  }
  void expect_connected(size_t times) {
    ASSERT_THAT(notes, SizeIs(times));
    EXPECT_THAT(notes, Each(testing::AllOf(StartsWith("127.0.0.1:"), testing::EndsWith(", connected"))));
  }
  static void answer(HttpExchange& exchange) { exchange.respond(200, "", "answered"); }

  std::vector<std::string> notes;  // written by the loop's thread
};

TEST_P(ExchangeAskedBehindItsAnswer, by_middleware_in_front_of_a_function) {
  Router router;
  router.use(noting());
  router.get("/", [](HttpExchange& exchange) { answer(exchange); });
  serve(std::move(router));
  ask_times(20);
  expect_connected(20);
}

TEST_P(ExchangeAskedBehindItsAnswer, by_middleware_in_front_of_a_coroutine_that_waits) {
  Router router;
  router.use(noting());
  router.get("/", [](HttpExchange& exchange) -> Task<> {
    co_await sleep(std::chrono::milliseconds(1));
    answer(exchange);
  });
  serve(std::move(router));
  ask_times(20);
  expect_connected(20);
}

TEST_P(ExchangeAskedBehindItsAnswer, by_middleware_in_front_of_a_handler_that_answers_later) {
  Router router;
  router.use(noting());
  router.get("/", [](HttpExchange& exchange) {
    exchange.loop().post([handle = exchange.handle()] { handle.run([](HttpExchange& it) { answer(it); }); });
  });
  serve(std::move(router));
  ask_times(20);
  expect_connected(20);
}

TEST_P(ExchangeAskedBehindItsAnswer, by_the_handler_itself) {
  Router router;
  router.get("/", [this](HttpExchange& exchange) -> Task<> {
    co_await sleep(std::chrono::milliseconds(1));
    answer(exchange);
    note(exchange);
    co_await sleep(std::chrono::milliseconds(1));
    EXPECT_TRUE(exchange.peer_address());
  });
  serve(std::move(router));
  ask_times(20);
  expect_connected(20);
}

TEST_P(ExchangeAskedBehindItsAnswer, by_a_function_in_the_call_that_answers) {
  Router router;
  router.get("/", [this](HttpExchange& exchange) {
    answer(exchange);
    note(exchange);
  });
  serve(std::move(router));
  ask_times(3);
  expect_connected(3);
}

// The connection is gone by then, but the client's address is still known.
TEST_P(ExchangeAskedBehindItsAnswer, after_the_client_has_gone) {
  AsyncQueue<int> gate(4);
  Router router;
  router.get("/answered", [&](HttpExchange& exchange) -> Task<> {
    co_await sleep(std::chrono::milliseconds(1));
    answer(exchange);
    co_await gate.pop();
    note(exchange);
  });
  router.get("/waiting", [&](HttpExchange& exchange) -> Task<> {
    co_await gate.pop();  // this wait is cancelled
    note(exchange);
  });
  router.get("/kept", [&](HttpExchange& exchange) { exchange.on_abandoned([this](HttpExchange& its) { note(its); }); });
  serve(std::move(router));
  for (const std::string path : {"answered", "waiting", "kept"}) {
    notes.clear();
    const uint64_t before = ask([&] { return server().stats().requests; });
    RawPeer one = peer();
    one.send("GET /" + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(wait_until([&] { return server().stats().requests > before; }));
    ASSERT_TRUE(path != "answered" || hears(one, "\r\n\r\nanswered"));
    one.reset();
    ASSERT_TRUE(wait_until([&] { return server().connections() == 0; }));
    ask([&] {
      int one_more = 1;
      EXPECT_TRUE(path != "answered" || gate.try_push(one_more));
    });
    ASSERT_TRUE(wait_until([&] { return notes.size() == 1; })) << path;
    EXPECT_THAT(notes, Each(testing::AllOf(StartsWith("127.0.0.1:"),
                                           testing::EndsWith(", the connection of an exchange is gone"))))
        << path;
  }
}

PEAL_TEST_ON_EVERY_PORT(ExchangeAskedBehindItsAnswer);

}  // namespace
}  // namespace peal
