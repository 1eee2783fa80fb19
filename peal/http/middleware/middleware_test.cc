// SPDX-License-Identifier: BSD-3-Clause
// The middleware that is there: authentication, CORS, request ids, the panic page.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include <peal/base/exception.h>
#include <peal/http/middleware/authentication.h>
#include <peal/http/middleware/cors.h>
#include <peal/http/middleware/local_client.h>
#include <peal/http/middleware/panic_page.h>
#include <peal/http/middleware/request_ids.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MiddlewareTest : public test::HttpTest {
 protected:
  static void greet(HttpExchange& exchange) {
    const HttpUser* user = exchange.attached<HttpUser>();
    exchange.respond(200, "", "hello " + (user != nullptr ? user->name : "stranger"));
  }
  void serve_behind(HttpMiddleware middleware) {
    Router router;
    router.use(std::move(middleware));
    router.get("/", greet);
    serve(std::move(router));
  }
  std::string answer(std::string_view fields, std::string_view method = "GET") {
    return answer_to(method, "/", fields);
  }
};

TEST_P(MiddlewareTest, basic_authentication_knows_names_and_passwords_and_refuses_all_else) {
  serve_behind(basic_auth("the \"back\" office", [](std::string_view name, std::string_view password) {
    return (name == "Aladdin" && same_secret(password, "open sesame")) || (name.empty() && password == ":");
  }));
  EXPECT_THAT(answer("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"), EndsWith("hello Aladdin"));
  EXPECT_THAT(answer("authorization: bAsIc  QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"), EndsWith("hello Aladdin"));
  EXPECT_THAT(answer("Authorization: Basic Ojo=\r\n"), EndsWith("hello "));  // "::"
  EXPECT_THAT(answer(""),
              AllOf(StartsWith("HTTP/1.1 401 "),
                    HasSubstr("WWW-Authenticate: Basic realm=\"the \\\"back\\\" office\", charset=\"UTF-8\"\r\n")));
  for (const std::string_view wrong :
       {"Basic", "Basic ", "Basic QWxhZGRpbg==", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", "Basic !!!!", "Basic QQ==",
        "BasicQWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic QWxhZGRpbjpPUEVO"}) {
    EXPECT_THAT(answer(fmt::format("Authorization: {}\r\n", wrong)), StartsWith("HTTP/1.1 401 ")) << wrong;
  }
  // Two readers of two fields might take them for two different users.
  EXPECT_THAT(answer("Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\nAuthorization: Basic Ojo=\r\n"),
              StartsWith("HTTP/1.1 401 "));
}

TEST_P(MiddlewareTest, bearer_tokens_say_whose_they_are) {
  serve_behind(bearer_auth("api", [](std::string_view token) -> std::optional<std::string> {
    if (!same_secret(token, "abc.def")) return std::nullopt;
    return "somebody";
  }));
  EXPECT_THAT(answer("Authorization: Bearer abc.def\r\n"), EndsWith("hello somebody"));
  EXPECT_THAT(answer(""), HasSubstr("WWW-Authenticate: Bearer realm=\"api\"\r\n"));
  EXPECT_THAT(answer("Authorization: Bearer abc.deg\r\n"),
              AllOf(StartsWith("HTTP/1.1 401 "), HasSubstr("realm=\"api\", error=\"invalid_token\"\r\n")));
  EXPECT_THROW(bearer_auth("a\r\nb", {}), std::invalid_argument);
}

TEST(LocalClient, what_is_local) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/run/x", "unix:@x"}) {
    EXPECT_TRUE(is_local(SocketAddress::parse(text).value())) << text;
  }
  for (const char* text : {"126.0.0.1:1", "10.0.0.1:1", "[::2]:1", "[::ffff:10.0.0.1]:1", "[fe80::1]:1"}) {
    EXPECT_FALSE(is_local(SocketAddress::parse(text).value())) << text;
  }
  EXPECT_FALSE(is_local(SocketAddress()));
}

TEST(SameSecret, compares_all_bytes) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("secret", "secret"));
  EXPECT_FALSE(same_secret("secret", "secreT"));
  EXPECT_FALSE(same_secret("secret", "Secret"));
  EXPECT_FALSE(same_secret("secret", "secre"));
  EXPECT_FALSE(same_secret("abcabc", "abc"));
}

TEST_P(MiddlewareTest, preflight_is_answered_for_the_origins_that_are_known) {
  serve_behind(cors({.origins = {"https://app.example", "http://localhost:3000"},
                     .methods = {"GET", "PUT"},
                     .headers = {"Content-Type", "X-Mine"},
                     .exposed = {"X-Total"},
                     .credentials = true}));
  const std::string asks = "Access-Control-Request-Method: PUT\r\n";
  EXPECT_THAT(answer("Origin: https://app.example\r\n" + asks, "OPTIONS"),
              AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Access-Control-Allow-Origin: https://app.example\r\n"),
                    HasSubstr("Access-Control-Allow-Credentials: true\r\n"),
                    HasSubstr("Access-Control-Allow-Methods: GET, PUT\r\n"),
                    HasSubstr("Access-Control-Allow-Headers: Content-Type, X-Mine\r\n"),
                    HasSubstr("Access-Control-Max-Age: 600\r\n"), HasSubstr("Vary: Origin\r\n")));
  for (const std::string_view stranger :
       {"https://app.example.evil", "https://APP.example", "http://app.example", "null", "", "*"}) {
    const std::string refused = answer(fmt::format("Origin: {}\r\n{}", stranger, asks), "OPTIONS");
    EXPECT_THAT(refused, AllOf(StartsWith("HTTP/1.1 403 "), Not(HasSubstr("Access-Control-Allow")))) << stranger;
  }
  EXPECT_THAT(answer("Origin: http://localhost:3000\r\n"),
              AllOf(EndsWith("hello stranger"), HasSubstr("Access-Control-Allow-Origin: http://localhost:3000\r\n"),
                    HasSubstr("Access-Control-Expose-Headers: X-Total\r\n"), HasSubstr("Vary: Origin\r\n")));
  // Others are passed on, and not shown to the page; caches know that there is more than one answer.
  EXPECT_THAT(answer("Origin: https://evil.example\r\n"),
              AllOf(EndsWith("hello stranger"), Not(HasSubstr("Access-Control")), HasSubstr("Vary: Origin\r\n")));
  EXPECT_THAT(answer(""), AllOf(EndsWith("hello stranger"), HasSubstr("Vary: Origin\r\n")));
  // No preflight: the router's own answer.
  EXPECT_THAT(answer("Origin: https://app.example\r\n", "OPTIONS"),
              AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Allow: GET, HEAD, OPTIONS\r\n")));
}

TEST_P(MiddlewareTest, any_origin_is_one_answer_for_all) {
  serve_behind(cors({.origins = {"*"}}));
  EXPECT_THAT(answer("Origin: https://evil.example\r\n"),
              AllOf(HasSubstr("Access-Control-Allow-Origin: *\r\n"), Not(HasSubstr("Vary"))));
  EXPECT_THROW(cors({}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"*"}, .credentials = true}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"*", "https://a"}}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"https://a"}, .headers = {"*"}, .credentials = true}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"https://a"}, .exposed = {"*"}, .credentials = true}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"https://a\r\nX: y"}}), std::invalid_argument);
  EXPECT_THROW(cors({.origins = {"*"}, .max_age = std::chrono::seconds(-1)}), std::invalid_argument);
}

TEST_P(MiddlewareTest, requests_have_ids_of_their_own_or_their_proxys) {
  Router router;
  router.use(request_ids({.takes_clients = true, .seed = 0xabc}));
  router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "", exchange.attached<RequestId>()->text); });
  serve(std::move(router));
  EXPECT_THAT(answer(""), AllOf(HasSubstr("X-Request-Id: 0000000000000abc0000000000000000\r\n"),
                                EndsWith("\r\n0000000000000abc0000000000000000")));
  EXPECT_THAT(answer(""), EndsWith("\r\n0000000000000abc0000000000000001"));
  EXPECT_THAT(answer("X-Request-Id: a-Proxy.says:7_\r\n"),
              AllOf(HasSubstr("X-Request-Id: a-Proxy.says:7_\r\n"), EndsWith("\r\na-Proxy.says:7_")));
  for (const std::string& wrong : {std::string("a b"), std::string("<script>"), std::string(129, 'a'), std::string()}) {
    EXPECT_THAT(answer("X-Request-Id: " + wrong + "\r\n"), HasSubstr("\r\n0000000000000abc")) << wrong;
  }
  EXPECT_THROW(request_ids({.field = "a b"}), std::invalid_argument);
  EXPECT_THROW(request_ids({.field = "date"}), std::invalid_argument);
}

TEST_P(MiddlewareTest, answer_after_an_exception_has_what_middleware_said_and_not_the_handler) {
  Router router;
  router.use(request_ids({.seed = 0xabc}));
  router.use(cors({.origins = {"*"}}));
  router.get("/", [](HttpExchange& exchange) {
    exchange.set_field("ETag", "\"of the handler\"");
    throw std::runtime_error("no");
  });
  serve(std::move(router));
  EXPECT_THAT(answer("Origin: https://a.example\r\n"),
              AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("X-Request-Id: 0000000000000abc"),
                    HasSubstr("Access-Control-Allow-Origin: *\r\n"), Not(HasSubstr("ETag"))));
}

TEST_P(MiddlewareTest, clients_say_no_ids_unless_they_may) {
  serve_behind(request_ids());
  EXPECT_THAT(answer("X-Request-Id: mine\r\n"), Not(HasSubstr("mine")));
}

TEST_P(MiddlewareTest, panic_page_shows_what_was_thrown_and_no_secrets) {
  Router router;
  router.error_page(panic_page());
  router.get("/", [](HttpExchange&) { throw Exception("<b>no bread</b>"); });
  router.get("/other", [](HttpExchange&) { throw 7; });
  serve(std::move(router));
  const std::string page = answer("Cookie: session=7e1f55\r\nX-Shown: <i>\r\nAuthorization: Basic c2VjcmV0\r\n");
  EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 500 "), HasSubstr("<code>peal::Exception</code>"),
                          HasSubstr("&lt;b&gt;no bread&lt;/b&gt;"), HasSubstr("<h2>Where</h2>"),
                          HasSubstr("X-Shown: &lt;i&gt;"), HasSubstr("Cookie: (left out)")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("7e1f55")), Not(HasSubstr("c2VjcmV0")), Not(HasSubstr("<b>"))));
  EXPECT_THAT(answer("Via: 1.1 a\r\n"), Not(HasSubstr("bread")));  // whose client is somewhere else
  EXPECT_THAT(answer_to("GET", "/other"), HasSubstr("not a std::exception"));
  EXPECT_THAT(answer_to("GET", "/nobody"),
              AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("<h1>404 Not Found</h1>"), Not(HasSubstr("threw"))));
}

PEAL_TEST_ON_EVERY_ENGINE(MiddlewareTest);

}  // namespace
}  // namespace peal
