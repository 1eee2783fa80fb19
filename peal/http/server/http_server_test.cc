// SPDX-License-Identifier: BSD-3-Clause
// Tests requests and their answers: heads, routes, keep-alive, pipelining and streams. Bodies of requests are in
// http_request_body_test.cc, timeouts in http_deadlines_test.cc.
#include <peal/http/server/http_server.h>

#include <stdexcept>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

void say_hello(HttpExchange& exchange) { exchange.respond(200, "text/plain", "Hello, world!"); }

class HttpServerTest : public test::HttpTest {
 protected:
  Router hello() {
    Router router;
    router.get("/", say_hello);
    return router;
  }
};

TEST_P(HttpServerTest, get_is_answered_with_date_type_and_length) {
  serve(hello());
  EXPECT_EQ(
      answer_to("GET", "/"),
      "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nContent-Length: 13\r\nConnection: close\r\n\r\n"
      "Hello, world!");
  EXPECT_EQ(server().stats().requests, 1u);
  EXPECT_EQ(server().stats().answers[2], 1u);
  EXPECT_EQ(server().stats().response_body_bytes, 13u);
}

TEST_P(HttpServerTest, connection_is_kept_for_the_next_request) {
  serve(hello());
  RawPeer one = peer();
  for (size_t i = 1; i <= 3; ++i) {
    one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(hears(one, "world!", i));
  }
  EXPECT_THAT(one.received(), Not(HasSubstr("Connection")));
  EXPECT_EQ(server().connections(), 1u);
}

TEST_P(HttpServerTest, http_1_0_closes_unless_it_is_asked_to_stay) {
  serve(hello());
  EXPECT_THAT(answer_to("GET / HTTP/1.0\r\n\r\n"), HasSubstr("\r\nConnection: close\r\n"));
  RawPeer one = peer_sending("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(hears(one, "world!"));
  EXPECT_THAT(one.received(), HasSubstr("\r\nConnection: keep-alive\r\n"));
  one.send("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(test::count_of(all_of(one), "world!"), 2u);
}

TEST_P(HttpServerTest, who_says_that_it_asks_no_more_is_not_waited_for) {
  Router router = hello();
  router.post("/", say_hello);
  serve(std::move(router));
  RawPeer getter = peer_sending("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return server().stats().requests == 1 && server().connections() == 0; }));
  ASSERT_TRUE(ends(getter));
  EXPECT_EQ(getter.error(), 0);
  EXPECT_THAT(getter.received(), EndsWith("world!"));
  // A client may send bytes after the body although it must not. Closing at once would then reset the connection and
  // lose the answer.
  RawPeer poster = peer_sending("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
  ASSERT_TRUE(wait_until([&] {
    poster.pump();
    return poster.ended();
  }));
  EXPECT_EQ(server().connections(), 1u);
  poster.close();
  ASSERT_TRUE(wait_until([&] { return server().connections() == 0; }));
}

TEST_P(HttpServerTest, connection_closes_after_as_many_requests_as_it_may_have) {
  serve(hello(), {.max_requests_per_connection = 2});
  const std::string twice = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string answers = answer_to(twice + twice);
  EXPECT_EQ(test::count_of(answers, "world!"), 2u);
  EXPECT_EQ(test::count_of(answers, "Connection: close"), 1u);
}

TEST_P(HttpServerTest, pipelined_requests_are_answered_in_order_in_one_piece) {
  serve_get("/{number}", [](HttpExchange& exchange) { exchange.respond(200, "", exchange.parameter("number")); });
  std::string requests;
  std::string numbers;
  for (int i = 0; i < 200; ++i) {
    requests += fmt::format("GET /n{:03} HTTP/1.1\r\nHost: a\r\n\r\n", i);
    numbers += fmt::format("n{:03}", i);
  }
  RawPeer one = peer_sending(requests);
  ASSERT_TRUE(hears(one, "n199"));
  std::string bodies;
  for (size_t at = one.received().find("\r\n\r\n"); at != std::string::npos;
       at = one.received().find("\r\n\r\n", at + 4)) {
    bodies += one.received().substr(at + 4, 4);
  }
  EXPECT_EQ(bodies, numbers);
  const uint64_t sends = ask([&] { return loop().engine().stats().sends; });
  EXPECT_LT(sends, 10u);
}

TEST_P(HttpServerTest, answer_given_later_keeps_the_order) {
  Router router;
  router.get("/later", left_unanswered());
  router.get("/now", [](HttpExchange& exchange) { exchange.respond(200, "", "now;"); });
  serve(std::move(router));
  RawPeer one = peer();
  const std::string later = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string now = "GET /now HTTP/1.1\r\nHost: a\r\n\r\n";
  one.send(now + later + now + later + now);
  ASSERT_TRUE(hears(one, "now;"));
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  unanswered[0].respond(200, "", "first;");
  ASSERT_TRUE(hears(one, "now;", 2));
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 2; }));
  EXPECT_EQ(test::count_of(one.received(), "now;"), 2u);
  unanswered[0].respond(200, "", "too late;");
  unanswered[1].respond(200, "", "second;");
  ASSERT_TRUE(hears(one, "now;", 3));
  std::string bodies;
  for (const std::string_view body : {"now;", "first;", "now;", "second;", "now;"}) {
    const size_t at = one.received().find(body, bodies.size());
    ASSERT_NE(at, std::string::npos);
    bodies = one.received().substr(0, at + 1);
  }
  EXPECT_THAT(one.received(), Not(HasSubstr("too late")));
  EXPECT_GE(server().stats().pipelined, 2u);
}

TEST_P(HttpServerTest, head_gets_the_fields_of_get_without_the_body) {
  Router router = hello();
  router.get("/stream", [](HttpExchange& exchange) {
    exchange.begin(200);
    exchange.write("never");
    exchange.end();
  });
  serve(std::move(router));
  EXPECT_THAT(answer_to("HEAD", "/"), testing::AllOf(HasSubstr("Content-Length: 13\r\n"), EndsWith("\r\n\r\n")));
  EXPECT_THAT(answer_to("HEAD", "/stream"),
              testing::AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"), EndsWith("\r\n\r\n")));
}

TEST_P(HttpServerTest, statuses_without_content_have_no_body_and_no_length) {
  serve_get("/{status}", [](HttpExchange& exchange) {
    exchange.respond(exchange.parameter("status") == "204" ? 204 : 304, "", "body that must not go out");
  });
  EXPECT_EQ(answer_to("GET", "/204"), "HTTP/1.1 204 No Content\r\nDate: now\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer_to("GET", "/304"),
              testing::AllOf(StartsWith("HTTP/1.1 304 Not Modified\r\n"), EndsWith("\r\n\r\n")));
}

TEST_P(HttpServerTest, what_no_route_fits_is_404_and_what_no_method_fits_405) {
  Router router = hello();
  router.post("/things/{id}", say_hello);
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/nowhere"),
              testing::AllOf(StartsWith("HTTP/1.1 404 Not Found\r\n"), HasSubstr("<h1>404 Not Found</h1>")));
  EXPECT_THAT(answer_to("DELETE", "/"),
              testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("\r\nAllow: GET, HEAD, OPTIONS\r\n")));
  EXPECT_THAT(answer_to("OPTIONS", "/things/5"),
              testing::AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("\r\nAllow: OPTIONS, POST\r\n")));
  EXPECT_THAT(answer_to("OPTIONS", "*"), testing::AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("\r\nAllow: GET, ")));
  EXPECT_EQ(server().stats().unrouted, 2u);
}

TEST_P(HttpServerTest, what_is_no_http_is_refused_and_the_connection_ends) {
  serve(hello());
  EXPECT_THAT(answer_to("what?\r\n\r\n"), testing::AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("Connection: close")));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 505 "));
  EXPECT_THAT(answer_to("GET", "/%2e%2e/etc"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"),
              StartsWith("HTTP/1.1 414 "));
  EXPECT_EQ(server().stats().malformed, 4u);
  EXPECT_EQ(server().stats().too_large, 1u);
}

TEST_P(HttpServerTest, answer_before_a_refused_request_still_comes_first) {
  serve(hello());
  const std::string answers =
      answer_to("GET / HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answers, StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(test::count_of(answers, "HTTP/1.1 400 "), 1u);
  EXPECT_EQ(test::count_of(answers, "HTTP/1.1 "), 2u);
}

TEST_P(HttpServerTest, stream_is_chunked_to_1_1_and_ends_with_the_connection_to_1_0) {
  serve_get("/", [](HttpExchange& exchange) {
    exchange.set_field("X-Kind", "a\r\nb");
    exchange.begin(200, "text/plain");
    EXPECT_TRUE(exchange.write("one"));
    EXPECT_TRUE(exchange.write(""));
    EXPECT_TRUE(exchange.write(Buffer("two")));
    exchange.end();
  });
  EXPECT_EQ(answer_to("GET", "/"),
            "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nX-Kind: a  b\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_EQ(answer_to("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "HTTP/1.1 200 OK\r\nDate: now\r\nContent-Type: text/plain\r\nX-Kind: a  b\r\n"
            "Connection: close\r\n\r\nonetwo");
}

TEST_P(HttpServerTest, stream_of_known_length_says_it_and_one_cut_short_ends_the_connection) {
  serve_get("/{written}", [](HttpExchange& exchange) {
    exchange.set_content_length(6);
    exchange.begin(200);
    exchange.write(exchange.parameter("written"));
    exchange.end();
  });
  EXPECT_THAT(answer_to("GET", "/onetwo"),
              testing::AllOf(HasSubstr("Content-Length: 6\r\n"), EndsWith("\r\n\r\nonetwo")));
  RawPeer one = peer_sending("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(ends(one));
  EXPECT_EQ(log_texts.count("an answer of 6 bytes ended after 3: it is reset"), 1u);
}

TEST_P(HttpServerTest, stream_waits_for_a_client_that_reads_slowly) {
  constexpr size_t kPieces = 600;
  const std::string piece(10'000, 'p');
  size_t written = 0;
  size_t waits = 0;
  serve_get("/", [&](HttpExchange& exchange) {
    auto more = [&](HttpExchange& going) {
      while (written < kPieces) {
        ++written;
        if (going.write(piece)) continue;
        ++waits;
        return;
      }
      if (!going.complete()) going.end();
    };
    exchange.on_writable(more);
    exchange.begin(200);
    more(exchange);
  });
  RawPeer slow = peer_sending("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 64 * 1024);
  ASSERT_TRUE(wait_until([&] { return waits > 0; }));
  EXPECT_LT(ask([&] { return written; }), kPieces);
  const std::string answer = all_of(slow);
  EXPECT_GT(answer.size(), kPieces * piece.size());
  EXPECT_THAT(answer, EndsWith("\r\n0\r\n\r\n"));
}

TEST_P(HttpServerTest, large_answer_is_whole_however_it_is_given) {
  const std::string body(3'000'000, 'b');
  Router router;
  router.get("/text", [&](HttpExchange& exchange) { exchange.respond(200, "", body); });
  router.get("/buffer", [&](HttpExchange& exchange) { exchange.respond(200, "", Buffer(body)); });
  serve(std::move(router));
  const std::string requests =
      "GET /text HTTP/1.1\r\nHost: a\r\n\r\nGET /buffer HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const std::string answers = answer_to(requests);
  EXPECT_EQ(test::count_of(answers, "Content-Length: 3000000\r\n"), 2u);
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(answers, 'b')), 2 * body.size());
}

TEST_P(HttpServerTest, exception_is_answered_500_before_the_answer_and_ends_the_connection_after) {
  Router router = hello();
  router.get("/before", [](HttpExchange& exchange) {
    exchange.set_field("X-Half", "set");
    throw std::runtime_error("on purpose");
  });
  router.get("/after", [](HttpExchange& exchange) {
    exchange.begin(200);
    throw std::runtime_error("on purpose");
  });
  serve(std::move(router));
  RawPeer one = peer_sending("GET /before HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(hears(one, "world!"));
  EXPECT_THAT(one.received(), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(one.received(), Not(HasSubstr("X-Half")));
  RawPeer other = peer_sending("GET /after HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(ends(other));
  EXPECT_EQ(server().stats().exceptions, 2u);
  EXPECT_EQ(log_texts.count("the handler of GET /before threw: on purpose (0 more like it)"), 1u);
}

TEST_P(HttpServerTest, errors_are_shown_on_the_page_that_the_router_was_given) {
  Router router = hello();
  router.error_page([](HttpExchange& exchange, int status) {
    if (status != 404) return;  // the server writes the page
    exchange.respond(status, "text/plain", fmt::format("lost: {}", exchange.request().path()));
  });
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/x"), EndsWith("\r\n\r\nlost: /x"));
  EXPECT_THAT(answer_to("nonsense\r\n\r\n"), HasSubstr("<h1>400 Bad Request</h1>"));
}

TEST_P(HttpServerTest, client_that_half_closes_still_gets_its_answers) {
  Router router = hello();
  router.get("/later", left_unanswered());
  serve(std::move(router));
  RawPeer one = peer_sending("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  one.fin();
  ASSERT_TRUE(hears(one, "world!"));
  ASSERT_TRUE(wait_until([&] { return unanswered.size() == 1; }));
  unanswered[0].respond(200, "", "at last");
  EXPECT_THAT(all_of(one), EndsWith("at last"));
}

TEST_P(HttpServerTest, server_name_is_sent_where_there_is_one_and_lines_of_access_are_written) {
  std::string lines;
  HttpServerOptions options{.server_name = "peal", .access_log = [&](std::string_view more) { lines += more; }};
  serve(hello(), options);
  EXPECT_THAT(answer_to("GET /?q=x HTTP/1.1\r\nHost: a\r\nUser-Agent: te\"st\r\nConnection: close\r\n\r\n"),
              HasSubstr("\r\nServer: peal\r\n"));
  EXPECT_THAT(answer_to("\x01\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  end_server();
  EXPECT_THAT(lines, testing::MatchesRegex("127.0.0.1 - - \\[../.../....:..:..:.. .0000\\] "
                                           "\"GET /.q=x HTTP/1.1\" 200 13 \"-\" \"te.x22st\"\n"
                                           "127.0.0.1 - - \\[.*\\] \"-\" 400 .* \"-\" \"-\"\n"));
}

TEST_P(HttpServerTest, unpooled_server_answers_as_well) {
  serve(hello(), {.pooled = false});
  RawPeer one = peer();
  for (size_t i = 1; i <= 3; ++i) {
    one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(hears(one, "world!", i));
  }
  EXPECT_THAT(answer_to("GET / HTTP/1.0\r\n\r\n"), HasSubstr("200 OK"));
}

PEAL_TEST_ON_EVERY_PORT(HttpServerTest);

}  // namespace
}  // namespace peal
