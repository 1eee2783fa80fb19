// SPDX-License-Identifier: BSD-3-Clause
// A GET with a head of more than 4 KiB crashed the server if its handler was a coroutine. An exchange with such a long
// head is freed, not kept to be used again. The coroutine's own record is destroyed after the exchange, and read the
// freed exchange to find the list of its loop. With `pooled = false` every request to a coroutine crashed the server.
#include <string>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

class CoroutineBehindALongHead : public test::HttpTest {
 protected:
  static Router coroutines() {
    Router router;
    router.get("/now", [](HttpExchange& exchange) -> Task<> {
      exchange.respond(200, "", "now;");
      co_return;
    });
    router.get("/later", [](HttpExchange& exchange) -> Task<> {
      co_await sleep(std::chrono::milliseconds(1));
      exchange.respond(200, "", "later;");
    });
    // This coroutine ends after its answer is complete, and perhaps after its connection has gone.
    router.get("/lingers", [](HttpExchange& exchange) -> Task<> {
      exchange.respond(200, "", "lingers;");
      co_await sleep(std::chrono::milliseconds(1));
    });
    return router;
  }
  void ask_each(std::string_view field) {
    for (const std::string_view name : {"now", "later", "lingers"}) {
      for (int i = 0; i < 10; ++i) {
        EXPECT_THAT(answer_to(fmt::format("GET /{} HTTP/1.1\r\nHost: h\r\n{}Connection: close\r\n\r\n", name, field)),
                    testing::EndsWith(fmt::format("\r\n\r\n{};", name)));
      }
    }
  }
};

TEST_P(CoroutineBehindALongHead, is_answered) {
  serve(coroutines());
  ask_each(fmt::format("X-Long: {}\r\n", std::string(6000, 'x')));
}

TEST_P(CoroutineBehindALongHead, is_answered_if_exchanges_are_not_pooled) {
  serve(coroutines(), {.pooled = false});
  ask_each("");
}

PEAL_TEST_ON_EVERY_PORT(CoroutineBehindALongHead);

}  // namespace
}  // namespace peal
