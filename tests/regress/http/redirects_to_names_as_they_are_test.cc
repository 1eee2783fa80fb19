// SPDX-License-Identifier: BSD-3-Clause
// A wiki redirected to "Location: /café" in raw UTF-8, or to "/a b". The client failed with HttpTrouble::kBadRedirect,
// while browsers and curl request "/caf%C3%A9" and "/a%20b". A second defect: the client sent the dots of
// "http://h/x/../y" and "//h/p/../q" as they were, and a server that guards its root answers this with 400. Dots were
// removed only from a Location that was just a path (RFC 3986 5.2.2).
#include <string>

#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::HttpScript;
using testing::ElementsAre;

class RedirectsToNamesAsTheyAre : public test::HttpClientTest {
 protected:
  // Expects that a redirect to `place` makes the client request `target`. "{}" in `place` stands for the server's
  // address.
  void expect_leads_to(std::string place, const std::string& target) {
    HttpScript* server = nullptr;
    server = &serve([&](Connection& connection, const HttpScript::Request& request) {
      if (request.what() != "GET /from/x") {
        connection.send(test::http_ok("there"));
        return;
      }
      connection.send("HTTP/1.1 302 Found\r\nLocation: " + place + "\r\nContent-Length: 0\r\n\r\n");
    });
    if (const size_t at = place.find("{}"); at != std::string::npos) {
      place.replace(at, 2, server->address().to_string());
    }
    const auto answer = fetch(HttpClientRequest(server->url("/from/x")));
    ASSERT_TRUE(answer) << place << ": " << answer.error().message();
    EXPECT_THAT(server->asked(), ElementsAre("GET /from/x", "GET " + target));
    EXPECT_EQ(answer->url, server->url(target));
  }
};

TEST_P(RedirectsToNamesAsTheyAre, are_encoded) {
  expect_leads_to("/caf\xc3\xa9", "/caf%C3%A9");
  expect_leads_to("/a b", "/a%20b");
  expect_leads_to("caf\xe9?q=\xc3\xa9 x#\xc3\xa9", "/from/caf%E9?q=%C3%A9%20x");
  expect_leads_to("http://{}/caf\xc3\xa9?a b", "/caf%C3%A9?a%20b");
  expect_leads_to("//{}/a b", "/a%20b");
  expect_leads_to("/already%20there%C3%A9", "/already%20there%C3%A9");
}

TEST_P(RedirectsToNamesAsTheyAre, lose_their_dots) {
  expect_leads_to("http://{}/x/../y", "/y");
  expect_leads_to("//{}/p/./../q?r/../s", "/q?r/../s");
  expect_leads_to("http://{}/../../y", "/y");
  expect_leads_to("../y", "/y");
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(RedirectsToNamesAsTheyAre);

}  // namespace
}  // namespace peal
