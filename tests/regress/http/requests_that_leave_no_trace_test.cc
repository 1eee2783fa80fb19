// SPDX-License-Identifier: BSD-3-Clause
// The access log had a line only for complete answers. It had none if the client left while the handler waited, or in
// the middle of a long answer. It had none either if the handler gave the answer up, or began it and threw. nginx logs
// all these requests, with 499 if no answer had begun. Now peal does the same.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;

class RequestsThatLeaveNoTrace : public test::HttpTest {
 protected:
  // Returns the log lines of a request to `handler`. Its client resets the connection when the handler has been called.
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

TEST_P(RequestsThatLeaveNoTrace, client_that_leaves_before_its_answer_begins) {
  EXPECT_THAT(logged([](HttpExchange&) {}), HasSubstr("\"GET / HTTP/1.1\" 499 0 "));
}

TEST_P(RequestsThatLeaveNoTrace, client_that_leaves_in_the_middle_of_its_answer) {
  const std::string line = logged([](HttpExchange& exchange) {
    exchange.on_abandoned([](HttpExchange&) {});
    exchange.begin(200, "text/plain");
    exchange.write("abc");
  });
  EXPECT_THAT(line, HasSubstr("\"GET / HTTP/1.1\" 200 3 "));
  EXPECT_THAT(line, testing::StartsWith("127.0.0.1 ")) << "with on_abandoned() the address is kept";
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

TEST_P(RequestsThatLeaveNoTrace, answer_whose_handler_throws_after_beginning_it) {
  const std::string line = logged([](HttpExchange& exchange) {
    exchange.begin(201, "text/plain");
    throw std::runtime_error("no");
  });
  EXPECT_THAT(line, HasSubstr("\"GET / HTTP/1.1\" 201 0 "));
}

}  // namespace
}  // namespace peal
