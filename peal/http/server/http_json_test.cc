// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/http_json.h>

#include <cerrno>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HttpJson, types_that_are_json) {
  for (const char* type : {"application/json", "Application/JSON", "application/json;charset=utf-8",
                           "application/json \t; a=b", "application/problem+json", "application/ld+JSON; q"}) {
    EXPECT_TRUE(detail::is_json_type(type)) << type;
  }
  for (const char* type : {"", ";", "json", "text/plain", "application/jsonx", "application/x-json", "+json", "a+json",
                           "text/json5", "application/json, text/plain", " application/json"}) {
    EXPECT_FALSE(detail::is_json_type(type)) << type;
  }
}

TEST(HttpJson, depth_counts_what_is_no_part_of_a_string) {
  EXPECT_EQ(detail::json_depth(""), 0u);
  EXPECT_EQ(detail::json_depth("[{}, [[]], {\"a\": [1]}]"), 3u);
  EXPECT_EQ(detail::json_depth("\"[[[\\\"[[\" ["), 1u);
  EXPECT_EQ(detail::json_depth("\"\\\\\" [["), 2u);
  EXPECT_EQ(detail::json_depth("]]]]["), 1u);
  EXPECT_EQ(detail::json_depth("\"\\"), 0u);
}

class HttpJsonTest : public test::HttpTest {
 protected:
  // Both handlers, one with a callback and one with a coroutine, answer with the value that they read, and note errors.
  void serve_both() {
    Router router;
    router.post("/coroutine",
                [this](HttpExchange& exchange) -> Task<> {
                  const Result<json> value = co_await read_json(exchange);
                  if (value) {
                    respond_json(exchange, 200, *value);
                  } else {
                    error = value.error();
                  }
                },
                {.body_limit_bytes = 5000});
    router.post("/callback",
                [](HttpExchange& exchange) {
                  read_json(exchange, [](HttpExchange& read, json&& value) { respond_json(read, 200, value); });
                },
                {.body_limit_bytes = 5000});
    serve(std::move(router));
  }
  std::string post(std::string_view path, std::string_view body, std::string_view type = "application/json") {
    return answer_to(
        fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: {}\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    path, type, body.size(), body));
  }
  std::error_code error_of_last() {
    std::error_code last;
    ask([&] { last = std::exchange(error, {}); });
    return last;
  }

  std::error_code error;  // used on the loop only
};
PEAL_TEST_ON_EVERY_ENGINE(HttpJsonTest);

TEST_P(HttpJsonTest, what_is_json_is_read_and_written) {
  serve_both();
  for (const char* path : {"/coroutine", "/callback"}) {
    const std::string answer = post(path, "{\"b\": [1, 2.5, null], \"a\": \"\xc3\xbc\"}");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(answer, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\n{\"a\":\"\xc3\xbc\",\"b\":[1,2.5,null]}\n"));
    EXPECT_THAT(post(path, "[]", "application/vnd.x+json; charset=utf-8"), EndsWith("\r\n\r\n[]\n"));
  }
}

TEST_P(HttpJsonTest, what_is_none_is_answered_with_its_place) {
  serve_both();
  for (const char* path : {"/coroutine", "/callback"}) {
    const std::string answer = post(path, "{\"a\": 1,\n  \"b\": tru}");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(answer, HasSubstr("{\"error\":\"parse error at line 2, column 11: "));
    EXPECT_THAT(post(path, ""), HasSubstr("line 1, column 1: "));
    EXPECT_THAT(post(path, "\"\xff\""), HasSubstr("ill-formed UTF-8"));
    EXPECT_THAT(post(path, "\"" + std::string(3000, 'x')), testing::Not(HasSubstr("xxx")));
  }
  EXPECT_EQ(error_of_last(), errno_code(EBADMSG));
}

TEST_P(HttpJsonTest, deeper_than_can_be_written_is_refused) {
  serve_both();
  for (const char* path : {"/coroutine", "/callback"}) {
    const std::string deepest = std::string(kMostJsonDepth, '[') + std::string(kMostJsonDepth, ']');
    EXPECT_THAT(post(path, deepest), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(post(path, "[" + deepest + "]"), HasSubstr("too deep"));
    EXPECT_THAT(post(path, std::string(5000, '[')), StartsWith("HTTP/1.1 400 "));
  }
  EXPECT_EQ(error_of_last(), errno_code(EBADMSG));
}

TEST_P(HttpJsonTest, another_type_or_more_than_the_route_takes_is_refused) {
  serve_both();
  for (const char* path : {"/coroutine", "/callback"}) {
    EXPECT_THAT(post(path, "[]", "text/plain"), StartsWith("HTTP/1.1 415 "));
  }
  EXPECT_EQ(error_of_last(), errno_code(EMEDIUMTYPE));
  EXPECT_THAT(answer_to("POST /coroutine HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]"),
              StartsWith("HTTP/1.1 415 "));
  for (const char* path : {"/coroutine", "/callback"}) {
    EXPECT_THAT(post(path, "\"" + std::string(5000, 'x') + "\""), StartsWith("HTTP/1.1 413 "));
    EXPECT_THAT(answer_to(fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                                      "Transfer-Encoding: chunked\r\n\r\n1388\r\n{}\r\n1\r\nx",
                                      path, std::string(5000, 'x'))),
                StartsWith("HTTP/1.1 413 "));
  }
}

TEST_P(HttpJsonTest, invalid_text_is_made_valid_when_it_is_sent) {
  serve_get("/", [](HttpExchange& exchange) { respond_json(exchange, 200, {{"name", "a\xff\xc0z"}}); });
  EXPECT_THAT(answer_to("GET", "/"), EndsWith("{\"name\":\"a\xef\xbf\xbd\xef\xbf\xbdz\"}\n"));
}

}  // namespace
}  // namespace peal
