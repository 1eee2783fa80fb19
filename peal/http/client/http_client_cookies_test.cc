// SPDX-License-Identifier: BSD-3-Clause
// A client with a cookie jar: cookies that servers set are sent back to them, also between the steps of a redirect.
#include <peal/http/client/http_client.h>
#include <peal/http/client/http_cookie_jar.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;

class HttpClientCookiesTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.cookies = &jar_;
  }
  void TearDown() override {
    drop_client();
    HttpClientTest::TearDown();
  }
  // Makes a request for the host in `url` that connects to `server`.
  static HttpClientRequest at(const std::string& url, const HttpScript& server) {
    HttpClientRequest request(url);
    request.connect_to = server.address().to_string();
    return request;
  }
  static std::string setting(std::string_view cookies, std::string_view status = "200 OK", std::string_view more = {}) {
    return fmt::format("HTTP/1.1 {}\r\nContent-Length: 0\r\n{}{}\r\n", status, cookies, more);
  }

  HttpCookieJar jar_;
};

TEST_P(HttpClientCookiesTest, what_a_server_sets_goes_back_to_it) {
  HttpScript& server = serve_text(setting("Set-Cookie: a=1\r\nset-cookie: b=2; Path=/x\r\nSet-Cookie: =\r\n"));
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  ASSERT_TRUE(fetch(at("http://a.test/x", server)));
  ASSERT_TRUE(fetch(at("http://b.test/x", server)));
  EXPECT_FALSE(server.requests().at(0).head.contains("Cookie"));
  EXPECT_TRUE(server.requests().at(1).has("Cookie: b=2; a=1"));
  EXPECT_FALSE(server.requests().at(2).head.contains("Cookie"));
  EXPECT_EQ(jar_.size(), 4u);
}

TEST_P(HttpClientCookiesTest, ones_own_field_goes_alone_and_without_a_jar_there_is_none) {
  HttpScript& server = serve_text(setting("Set-Cookie: a=1\r\n"));
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  ASSERT_TRUE(fetch(at("http://a.test/", server).add("cookie", "mine=1")));
  EXPECT_TRUE(server.requests().at(1).has("cookie: mine=1"));
  EXPECT_FALSE(server.requests().at(1).head.contains("a=1"));
  drop_client();
  client_options.cookies = nullptr;
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  EXPECT_FALSE(server.requests().at(2).head.contains("Cookie"));
}

TEST_P(HttpClientCookiesTest, each_step_of_a_redirect_has_its_own) {
  HttpScript* server = nullptr;
  HttpScript& there = serve_text(setting("Set-Cookie: there=1\r\n"));
  server = &serve([&](Connection& connection, const Request& request) {
    const bool first = request.what() == "GET /login";
    connection.send(setting(first ? "Set-Cookie: session=7\r\n" : "", "302 Found",
                            first ? "Location: /home\r\n" : "Location: " + there.url() + "\r\n"));
  });
  const std::string url = "http://localhost:" + std::to_string(server->address().port()) + "/login";
  ASSERT_TRUE(fetch(at(url, *server)));
  ASSERT_TRUE(fetch(at(url, *server)));
  EXPECT_FALSE(server->requests().at(0).head.contains("Cookie"));
  EXPECT_TRUE(server->requests().at(1).has("Cookie: session=7")) << "set by the redirect before";
  EXPECT_FALSE(there.requests().at(0).head.contains("Cookie")) << "another host";
  EXPECT_TRUE(server->requests().at(2).has("Cookie: session=7"));
  EXPECT_TRUE(there.requests().at(1).has("Cookie: there=1"));
}

TEST_P(HttpClientCookiesTest, an_attempt_that_is_repeated_has_what_the_one_before_set) {
  client_options.retry.attempts = 2;
  client_options.retry.first_delay = std::chrono::milliseconds(1);
  HttpScript& server = serve_text(setting("Set-Cookie: a=1\r\n", "503 Later"));
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  ASSERT_EQ(server.requests().size(), 2u);
  EXPECT_TRUE(server.requests().at(1).has("Cookie: a=1"));
}

TEST_P(HttpClientCookiesTest, a_flood_of_cookies_is_bounded) {
  std::string flood;
  for (int count = 0; count < 2000; ++count) flood += fmt::format("Set-Cookie: c{}=1\r\n", count);
  HttpScript& server = serve_text(setting(flood));
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  ASSERT_TRUE(fetch(at("http://a.test/", server)));
  EXPECT_EQ(jar_.size(), 50u);
  EXPECT_LT(server.requests().at(1).head.size(), 1000u);
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpClientCookiesTest);

}  // namespace
}  // namespace peal
