// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/redirect_to_https.h>

#include <stdexcept>

#include <gmock/gmock.h>

#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class RedirectToHttpsTest : public test::HttpTest {
 protected:
  // Returns the Location of the answer, or its status line if it is not a redirect.
  std::string place(std::string_view method, std::string_view target, std::string_view fields,
                    std::string_view version = "1.1") {
    const std::string answer =
        answer_to(fmt::format("{} {} HTTP/{}\r\n{}Connection: close\r\n\r\n", method, target, version, fields));
    constexpr std::string_view kName = "\r\nLocation: ";
    const size_t at = answer.find(kName);
    if (!answer.starts_with("HTTP/1.1 308 Permanent Redirect\r\n") || at == std::string::npos) {
      return answer.substr(0, answer.find("\r\n"));
    }
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 0\r\n"));
    return answer.substr(at + kName.size(), answer.find("\r\n", at + 1) - at - kName.size());
  }
};

TEST_P(RedirectToHttpsTest, every_method_and_path_to_the_same_host) {
  serve(Router(redirect_to_https()));
  for (const char* method : {"GET", "HEAD", "POST", "DELETE", "OPTIONS", "WHATEVER"}) {
    EXPECT_EQ(place(method, "/", "Host: example.org\r\n"), "https://example.org/") << method;
  }
  EXPECT_EQ(place("GET", "/a%20b/../c?d=e&f", "Host: example.org\r\n"), "https://example.org/a%20b/../c?d=e&f");
  EXPECT_EQ(place("GET", "//elsewhere.test/x", "Host: example.org\r\n"), "https://example.org//elsewhere.test/x");
  EXPECT_EQ(place("GET", "/", "Host: example.org:8080\r\n"), "https://example.org/");
  EXPECT_EQ(place("GET", "/", "Host: [::1]:8080\r\n"), "https://[::1]/");
  EXPECT_EQ(place("GET", "http://absolute.test:80/x?y", "Host: other.test\r\n"), "https://absolute.test/x?y");
  EXPECT_EQ(place("GET", "/", "Host: old.test\r\n", "1.0"), "https://old.test/");
  EXPECT_EQ(place("POST", "/", "Host: example.org\r\nContent-Length: 0\r\n"), "https://example.org/");
}

TEST_P(RedirectToHttpsTest, another_port_takes_the_place_of_the_one_that_was_asked) {
  serve(Router(redirect_to_https(8443)));
  EXPECT_EQ(place("GET", "/x", "Host: example.org\r\n"), "https://example.org:8443/x");
  EXPECT_EQ(place("GET", "/x", "Host: 127.0.0.1:8080\r\n"), "https://127.0.0.1:8443/x");
  EXPECT_EQ(place("GET", "/x", "Host: [fe80::1]\r\n"), "https://[fe80::1]:8443/x");
}

TEST_P(RedirectToHttpsTest, a_host_that_is_bad_or_missing_leads_nowhere) {
  serve(Router(redirect_to_https()));
  for (const char* host : {"Host:\r\n", "", "Host: user@example.org\r\n", "Host: a b\r\n", "Host: a/b\r\n",
                           "Host: example.org:0\r\n", "Host: example.org:99999\r\n", "Host: a\r\nHost: b\r\n"}) {
    EXPECT_EQ(place("GET", "/", host), "HTTP/1.1 400 Bad Request") << host;
  }
  EXPECT_EQ(place("GET", "/", "", "1.0"), "HTTP/1.1 400 Bad Request");
  EXPECT_EQ(place("CONNECT", "example.org:443", "Host: example.org:443\r\n"), "HTTP/1.1 501 Not Implemented");
}

TEST_P(RedirectToHttpsTest, what_has_a_route_of_its_own_is_served) {
  Router router;
  router.get("/.well-known/acme-challenge/{token}",
             [](HttpExchange& exchange) { exchange.respond(200, "", exchange.parameter("token")); });
  router.any("/{path*}", redirect_to_https());
  serve(std::move(router));
  EXPECT_THAT(answer_to("GET", "/.well-known/acme-challenge/abc"), testing::EndsWith("\r\n\r\nabc"));
  EXPECT_EQ(place("GET", "/.well-known/other", "Host: a\r\n"), "https://a/.well-known/other");
}

TEST_P(RedirectToHttpsTest, the_connection_goes_on_and_a_body_nobody_wants_is_dropped) {
  serve(Router(redirect_to_https()));
  RawPeer one =
      peer_sending("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345GET /y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(hears(one, "Location: https://a/x\r\n"));
  EXPECT_TRUE(hears(one, "Location: https://a/y\r\n"));
}

PEAL_TEST_ON_EVERY_PORT(RedirectToHttpsTest);

TEST(RedirectToHttps, to_port_0_is_refused) { EXPECT_THROW(redirect_to_https(0), std::invalid_argument); }

}  // namespace
}  // namespace peal
