// SPDX-License-Identifier: BSD-3-Clause
// A coroutine that answers waits for something of its own, which its on_abandoned brings about: it ends inside that
// call. Its exchange was then given back twice, and two later clients shared one: neither was answered.
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
  // `told`: what on_abandoned does, besides letting the coroutine go on.
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
  // Two exchanges at a time are two. On a busy machine their time may be up as well: then two others try.
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
    ADD_FAILURE() << "none of a hundred pairs was answered";
  }

  bool waits = false;
  bool abandoned = false;
};

TEST_P(CoroutineThatEndsWhenAbandoned, by_its_client) {
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

TEST_P(CoroutineThatEndsWhenAbandoned, by_a_server_that_answers_instead) {
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

TEST_P(CoroutineThatEndsWhenAbandoned, and_takes_the_server_with_it) {
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
