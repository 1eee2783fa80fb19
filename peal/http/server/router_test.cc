// SPDX-License-Identifier: BSD-3-Clause
// Tests which handler gets a request.
#include <peal/http/server/router.h>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::EndsWith;

class RouterTest : public test::HttpTest {
 protected:
  // Answers with the handler's name and the values of `parameters`.
  static HttpHandler named(std::string name, std::vector<std::string> parameters = {}) {
    return [name, parameters](HttpExchange& exchange) {
      std::string text = name;
      for (const std::string& each : parameters) text += " " + each + "=" + std::string(exchange.parameter(each));
      exchange.respond(200, "", text);
    };
  }
};

TEST_P(RouterTest, the_most_literal_pattern_wins_whatever_the_order_they_were_added_in) {
  Router router;
  router.get("/{path*}", named("rest", {"path"}));
  router.get("/a/{x}/c", named("middle", {"x"}));
  router.get("/a/{x}", named("last", {"x"}));
  router.get("/a/b", named("literal"));
  router.get("/a/b/{y*}", named("below", {"y"}));
  router.get("/", named("root"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/"), "root");
  EXPECT_EQ(body_of("GET", "/?a=/b"), "root");
  EXPECT_EQ(body_of("GET", "/a/b"), "literal");
  EXPECT_EQ(body_of("GET", "/a/x"), "last x=x");
  EXPECT_EQ(body_of("GET", "/a/b/c"), "below y=c");
  EXPECT_EQ(body_of("GET", "/a/z/c"), "middle x=z");
  EXPECT_EQ(body_of("GET", "/a/z/d"), "rest path=a/z/d");
  EXPECT_EQ(body_of("GET", "/a/"), "rest path=a/");
  EXPECT_EQ(body_of("GET", "/a/b/"), "below y=");
}

TEST_P(RouterTest, paths_are_compared_decoded_and_without_dots) {
  serve_get("/caf\xc3\xa9/{name}", named("cafe", {"name"}));
  EXPECT_EQ(body_of("GET", "/caf%C3%A9/a%20b"), "cafe name=a b");
  EXPECT_EQ(body_of("GET", "/x/../caf%c3%a9/./%41"), "cafe name=A");
  EXPECT_EQ(body_of("GET", "http://a/caf%C3%A9/absolute"), "cafe name=absolute");
  EXPECT_EQ(body_of("GET", "/caf%C3%A9/%2F"), "400");
  EXPECT_EQ(body_of("GET", "/caf%C3%A9/%00"), "400");
}

TEST_P(RouterTest, methods_have_handlers_of_their_own_and_a_more_general_pattern_may_have_the_right_one) {
  Router router;
  router.get("/x", named("get"));
  router.put("/x", named("put"));
  router.add("BREW", "/x", named("brew"));
  router.any("/y", named("any"));
  router.del("/y", named("delete"));
  router.del("/{name}", named("general"));
  router.options("/y", named("options"));
  serve(std::move(router));
  EXPECT_EQ(body_of("GET", "/x"), "get");
  EXPECT_EQ(body_of("PUT", "/x"), "put");
  EXPECT_EQ(body_of("BREW", "/x"), "brew");
  EXPECT_EQ(body_of("DELETE", "/x"), "general");
  EXPECT_EQ(body_of("PATCH", "/x"), "405");
  EXPECT_EQ(body_of("DELETE", "/y"), "delete");
  EXPECT_EQ(body_of("WHATEVER", "/y"), "any");
  EXPECT_EQ(body_of("OPTIONS", "/y"), "options");
  EXPECT_EQ(body_of("PATCH", "/z"), "405");
  EXPECT_EQ(body_of("PATCH", "/z/z"), "404");
}

TEST_P(RouterTest, one_handler_may_have_it_all) {
  serve(
      Router(HttpHandler([](HttpExchange& exchange) { exchange.respond(200, "", exchange.request().method_text()); })));
  EXPECT_EQ(body_of("GET", "/any/where"), "GET");
  EXPECT_EQ(body_of("BREW", "/"), "BREW");
}

TEST(Router, patterns_that_are_none_are_refused) {
  Router router;
  router.get("/a/{x}", [](HttpExchange&) {});
  const auto expect_refusal = [&](std::string_view pattern, std::string_view why) {
    EXPECT_THAT([&] { router.get(pattern, [](HttpExchange&) {}); },
                testing::ThrowsMessage<std::invalid_argument>(testing::HasSubstr(why)));
  };
  expect_refusal("no-slash", "does not begin with a slash");
  expect_refusal("/{}", "is no parameter");
  expect_refusal("/{rest*}/more", "is no parameter");
  expect_refusal("/a{b}", "neither literal nor a parameter");
  expect_refusal("/{1}/{2}/{3}/{4}/{5}/{6}/{7}/{8}/{9}", "more than 8 parameters");
  expect_refusal("/a/{y}", "has two handlers for GET");
}

PEAL_TEST_ON_EVERY_PORT(RouterTest);

}  // namespace
}  // namespace peal
