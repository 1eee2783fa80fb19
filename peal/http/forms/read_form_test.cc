// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/read_form.h>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class ReadFormTest : public test::HttpTest {
 protected:
  Router routes() {
    Router router;
    const RouteOptions small = {.body_limit_bytes = 100};
    router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", "plain"); });
    router.post(
        "/task",
        [this](HttpExchange& exchange) -> Task<> {
          const Result<HttpForm> form = co_await read_form(exchange, {.fields = 3});
          error_ = test::error_of(form);
          if (form) exchange.respond(200, "", told(*form));
        },
        small);
    router.post(
        "/callback",
        [](HttpExchange& exchange) {
          read_form(exchange, {.fields = 3},
                    [](HttpExchange& read, HttpForm&& form) { read.respond(200, "", told(form)); });
        },
        small);
    return router;
  }
  static std::string told(const HttpForm& form) {
    std::string all = "form:";
    for (const HttpForm::Field& field : form) all.append(fmt::format("[{}|{}]", field.name, field.value));
    return all;
  }
  static std::string post(std::string_view path, std::string_view body, std::string_view fields = kType) {
    return fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n{}\r\n{}", path, body.size(), fields,
                       body);
  }
  static constexpr std::string_view kType = "Content-Type: application/x-www-form-urlencoded\r\n";
  static constexpr std::string_view kLast = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  std::error_code error_;
};

TEST_P(ReadFormTest, a_form_is_read_and_the_next_request_behind_it) {
  serve(routes());
  for (const std::string_view path : {"/task", "/callback"}) {
    const std::string answer = answer_to(post(path, "name=Ann+Lee&tag=a%26b&tag=") +
                                         post(path, "x=1", "content-type: Application/X-WWW-Form-urlencoded;x=y\r\n") +
                                         post(path, "") + std::string(kLast));
    EXPECT_THAT(answer,
                AllOf(HasSubstr("form:[name|Ann Lee][tag|a&b][tag|]"), HasSubstr("form:[x|1]"), EndsWith("plain")));
  }
}

TEST_P(ReadFormTest, what_is_no_form_is_answered_415_and_the_connection_goes_on) {
  serve(routes());
  for (const std::string_view path : {"/task", "/callback"}) {
    for (const std::string_view fields :
         {"", "Content-Type: application/json\r\n", "Content-Type: multipart/form-data; boundary=B\r\n",
          "Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip\r\n"}) {
      EXPECT_THAT(answer_to(post(path, "a=1", fields) + std::string(kLast)),
                  AllOf(StartsWith("HTTP/1.1 415 "), EndsWith("plain")))
          << fields;
    }
  }
  EXPECT_EQ(error_, errno_code(EMEDIUMTYPE));
}

TEST_P(ReadFormTest, too_much_is_answered_413) {
  serve(routes());
  for (const std::string_view path : {"/task", "/callback"}) {
    EXPECT_THAT(answer_to(post(path, "a&b&c&d") + std::string(kLast)),
                AllOf(StartsWith("HTTP/1.1 413 "), EndsWith("plain")));
    EXPECT_EQ(path == "/task" ? error_ : errno_code(E2BIG), errno_code(E2BIG));
    RawPeer one = peer_sending(post(path, "a=" + std::string(99, 'x')));
    EXPECT_TRUE(hears(one, "HTTP/1.1 413 "));
  }
}

PEAL_TEST_ON_EVERY_PORT(ReadFormTest);

}  // namespace
}  // namespace peal
