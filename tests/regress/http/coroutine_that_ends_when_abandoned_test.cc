// SPDX-License-Identifier: BSD-3-Clause
// A handler coroutine waited for an event that its own on_abandoned callback caused, so it ended inside this callback.
// Its exchange was then given back to the pool twice. Two later clients shared the exchange, and neither was answered.
#include <string>

#include <gtest/gtest.h>

#include <peal/http/server/http_server.h>
#include <peal/sync/async_queue.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;

class CoroutineThatEndsWhenAbandoned : public test::HttpTest {
 protected:
  // Returns a router with a coroutine that waits until it is abandoned. Its on_abandoned also calls `told`.
  Router waiting(std::function<void()> told = nullptr) {
    Router router;
    router.get("/wait", [this, told](HttpExchange& exchange) -> Task<> {
      AsyncQueue<int> queue(1);
      exchange.on_abandoned([this, told, &queue](HttpExchange&) {
        int one = 1;
        EXPECT_TRUE(queue.try_push(one));
        if (told) told();
        abandoned = true;
      });
      waits = true;
      co_await queue.pop();
    });
    router.get("/{name}", [](HttpExchange& exchange) {
      exchange.loop().after(milliseconds(5),
                            [handle = exchange.handle(), name = std::string(exchange.parameter("name"))] {
                              handle.respond(200, "text/plain", name);
                            });
    });
    return router;
  }
  // Expects that two requests at the same time get their own answers. On a busy machine answer_timeout may end one of
  // them with 503. Then the test tries again with two other requests.
  void expect_two_answers() {
    for (int tries = 0; tries < 100; ++tries) {
      RawPeer one = peer();
      RawPeer other = peer();
      one.send("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
      other.send("GET /other HTTP/1.1\r\nHost: a\r\n\r\n");
      ASSERT_TRUE(hears(one, "\r\n\r\n"));
      ASSERT_TRUE(hears(other, "\r\n\r\n"));
      if ((one.received() + other.received()).contains("HTTP/1.1 503 ")) continue;
      EXPECT_TRUE(hears(one, "\r\n\r\none"));
      EXPECT_TRUE(hears(other, "\r\n\r\nother"));
      return;
    }
    ADD_FAILURE() << "each of a hundred pairs got a 503";
  }

  bool waits = false;
  bool abandoned = false;
};

TEST_P(CoroutineThatEndsWhenAbandoned, by_a_client_that_leaves) {
  for (const bool pooled : {true, false}) {
    waits = abandoned = false;
    serve(waiting(), {.pooled = pooled});
    RawPeer leaves = peer();
    leaves.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(wait_until([&] { return waits; }));
    leaves.reset();
    ASSERT_TRUE(wait_until([&] { return abandoned; }));
    expect_two_answers();
    end_server();
  }
}

TEST_P(CoroutineThatEndsWhenAbandoned, by_the_answer_timeout) {
  for (const bool pooled : {true, false}) {
    waits = abandoned = false;
    serve(waiting(), {.answer_timeout = milliseconds(20), .pooled = pooled});
    RawPeer slow = peer();
    slow.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(hears(slow, "HTTP/1.1 503 "));
    ASSERT_TRUE(wait_until([&] { return abandoned; }));
    expect_two_answers();
    end_server();
  }
}

TEST_P(CoroutineThatEndsWhenAbandoned, and_destroys_its_server) {
  for (const bool pooled : {true, false}) {
    waits = abandoned = false;
    serve(waiting([this] { end_server(); }), {.pooled = pooled});
    RawPeer leaves = peer();
    leaves.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(wait_until([&] { return waits; }));
    leaves.reset();
    EXPECT_TRUE(wait_until([&] { return abandoned; }));
  }
}

PEAL_TEST_ON_EVERY_PORT(CoroutineThatEndsWhenAbandoned);

}  // namespace
}  // namespace peal
