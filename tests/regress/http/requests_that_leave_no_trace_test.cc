// SPDX-License-Identifier: BSD-3-Clause
// The access log had a line for each answer that was complete. A client that left while its handler waited, or in the
// midst of a long answer, left no trace in it, nor did an answer that its handler gave up, or began and threw. nginx
// logs them all, with 499 where no answer had begun.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;

class RequestsThatLeaveNoTrace : public test::HttpTest {
 protected:
  // What is logged of a request to this handler whose client resets its connection once it was asked for.
  std::string logged(HttpHandler handler) {
    std::string lines;
    bool asked = false;
    Router router;
    router.get("/", [&](HttpExchange& exchange) {
      asked = true;
      handler(exchange);
    });
    serve(std::move(router), {.access_log = [&lines](std::string_view more) { lines += more; }});
    RawPeer client = peer();
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(wait_until([&] { return asked; }));
    client.reset();
    EXPECT_TRUE(wait_until([&] { return server().stats().abandoned == 1; }));
    end_server();
    return lines;
  }
};
PEAL_TEST_ON_EVERY_PORT(RequestsThatLeaveNoTrace);

TEST_P(RequestsThatLeaveNoTrace, client_that_is_gone_before_its_answer_begins) {
  EXPECT_THAT(logged([](HttpExchange&) {}), HasSubstr("\"GET / HTTP/1.1\" 499 0 "));
}

TEST_P(RequestsThatLeaveNoTrace, client_that_is_gone_in_the_midst_of_an_answer) {
  const std::string line = logged([](HttpExchange& exchange) {
    exchange.on_abandoned([](HttpExchange&) {});
    exchange.begin(200, "text/plain");
    exchange.write("abc");
  });
  EXPECT_THAT(line, HasSubstr("\"GET / HTTP/1.1\" 200 3 "));
  EXPECT_THAT(line, testing::StartsWith("127.0.0.1 ")) << "on_abandoned() keeps the address";
}

TEST_P(RequestsThatLeaveNoTrace, answer_that_its_handler_gives_up) {
  const std::string line = logged([](HttpExchange& exchange) {
    exchange.set_content_length(10);
    exchange.begin(200, "text/plain");
    exchange.write("abc");
    exchange.end();
  });
  EXPECT_THAT(line, HasSubstr("\"GET / HTTP/1.1\" 200 3 "));
}

TEST_P(RequestsThatLeaveNoTrace, answer_behind_whose_beginning_its_handler_throws) {
  const std::string line = logged([](HttpExchange& exchange) {
    exchange.begin(201, "text/plain");
    throw std::runtime_error("no");
  });
  EXPECT_THAT(line, HasSubstr("\"GET / HTTP/1.1\" 201 0 "));
}

}  // namespace
}  // namespace peal
