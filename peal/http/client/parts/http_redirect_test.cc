// SPDX-License-Identifier: BSD-3-Clause
// Redirects (RFC 9110 15.4): the next URL and method, and which fields are dropped.
#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;
using Request = HttpScript::Request;

std::string redirect_to(int status, const std::string& place, std::string_view body = "moved") {
  return fmt::format("HTTP/1.1 {} Elsewhere\r\nLocation: {}\r\nContent-Length: {}\r\n\r\n{}", status, place,
                     body.size(), body);
}

class HttpRedirectTest : public test::HttpClientTest {
 protected:
  // Starts a server that redirects "/x" to `place`, and answers every other request.
  HttpScript& serve_redirect(int status, std::string place) {
    return serve([status, place = std::move(place)](Connection& connection, const Request& request) {
      connection.send(request.what().ends_with(" /x") ? redirect_to(status, place) : http_ok("there"));
    });
  }
};

TEST_P(HttpRedirectTest, the_method_that_follows) {
  const struct {
    int status;
    std::string method, next;
    bool body_stays;
  } cases[] = {
      {301, "GET", "GET", true},   {301, "HEAD", "HEAD", true},   {301, "POST", "GET", false},
      {301, "PUT", "PUT", true},   {302, "POST", "GET", false},   {302, "DELETE", "DELETE", true},
      {303, "GET", "GET", true},   {303, "HEAD", "HEAD", true},   {303, "POST", "GET", false},
      {303, "PUT", "GET", false},  {307, "POST", "POST", true},   {307, "GET", "GET", true},
      {308, "POST", "POST", true}, {308, "PATCH", "PATCH", true},
  };
  for (const auto& item : cases) {
    HttpScript& server = serve([&](Connection& connection, const Request& request) {
      std::string text = request.number == 1 ? redirect_to(item.status, "/y") : http_ok("there");
      if (request.what().starts_with("HEAD")) text.erase(text.find("\r\n\r\n") + 4);
      connection.send(text);
    });
    const bool has_body = item.method != "GET" && item.method != "HEAD";
    const auto answer = fetch(HttpClientRequest(item.method, server.url("/x"), has_body ? "body" : "")
                                  .add("Content-Type", "text/plain")
                                  .add("X-Own", "1"));
    ASSERT_TRUE(answer) << item.status << item.method << answer.error().message();
    ASSERT_EQ(server.requests().size(), 2u) << item.status << item.method;
    const Request& second = server.requests().at(1);
    EXPECT_EQ(second.what(), item.next + " /y") << item.status;
    EXPECT_EQ(second.body, has_body && item.body_stays ? "body" : "") << item.status << item.method;
    EXPECT_EQ(second.has("Content-Type: text/plain"), item.body_stays) << item.status << item.method;
    EXPECT_TRUE(second.has("X-Own: 1"));
    EXPECT_EQ(answer->url, server.url("/y"));
    EXPECT_EQ(server.opened(), 1u) << "the connection was used again";
  }
}

TEST_P(HttpRedirectTest, a_relative_place) {
  HttpScript& server = serve([&](Connection& connection, const Request& asked) {
    connection.send(asked.what() == "GET /a/b/x" ? redirect_to(302, "../c?d#e") : http_ok("there"));
  });
  ASSERT_TRUE(fetch(HttpClientRequest(server.url("/a/b/x"))));
  EXPECT_THAT(server.asked(), ElementsAre("GET /a/b/x", "GET /a/c?d"));
}

TEST_P(HttpRedirectTest, credentials_stay_with_their_origin) {
  HttpScript& there = serve_text(http_ok("there"));
  for (const bool same : {true, false}) {
    HttpScript* here = nullptr;
    here = &serve([&, same](Connection& connection, const Request& request) {
      const std::string place = same ? here->url("/y") : there.url("/y");
      connection.send(request.what() == "GET /x" ? redirect_to(307, place) : http_ok("there"));
    });
    answer_of(HttpClientRequest(here->url("/x"))
                  .add("authorization", "Basic c2VjcmV0")
                  .add("Cookie", "id=1")
                  .add("Host", "example.org")
                  .add("X-Own", "1"));
    const Request& second = same ? here->requests().at(1) : there.requests().at(0);
    EXPECT_EQ(second.has("authorization: Basic c2VjcmV0"), same);
    EXPECT_EQ(second.has("Cookie: id=1"), same);
    EXPECT_EQ(second.has("Host: example.org"), same);
    EXPECT_EQ(second.has("Host: " + there.address().to_string()), !same);
    EXPECT_TRUE(second.has("X-Own: 1"));
  }
}

TEST_P(HttpRedirectTest, a_way_of_its_own_to_connect_is_for_one_origin_only) {
  HttpScript& there = serve_text(http_ok("there"));
  HttpScript& here = serve_text(redirect_to(302, there.url("/y")));
  HttpClientRequest request("http://no.such.host/x");
  request.connect_to = here.address().to_string();
  ASSERT_TRUE(fetch(request));
  EXPECT_THAT(there.asked(), ElementsAre("GET /y"));
}

TEST_P(HttpRedirectTest, within_the_origin_a_way_of_its_own_to_connect_stays) {
  for (const char* place : {"/y", "http://no.such.host/y", "http://NO.such.host:80/y"}) {
    HttpScript& server = serve_redirect(302, place);
    HttpClientRequest request("http://no.such.host/x");
    request.connect_to = server.address().to_string();
    const auto answer = fetch(request);
    ASSERT_TRUE(answer) << place << ": " << answer.error().message();
    EXPECT_THAT(server.asked(), ElementsAre("GET /x", "GET /y"));
    EXPECT_TRUE(server.requests().at(1).has("Host: no.such.host"));
  }
  // Another port is another origin, so connect_to does not count there: the client connects to port 1 and is refused.
  HttpClientRequest request("http://no.such.host/x");
  HttpScript& other = serve_redirect(302, "http://127.0.0.1:1/y");
  request.connect_to = other.address().to_string();
  EXPECT_EQ(error_of_fetch(request), std::errc::connection_refused);
  EXPECT_THAT(other.asked(), ElementsAre("GET /x"));
}

TEST_P(HttpRedirectTest, as_many_as_allowed) {
  HttpScript* server = nullptr;
  server = &serve([&](Connection& connection, const Request& request) {
    const int number = std::stoi(request.what().substr(5));
    connection.send(number == 0 ? http_ok("there") : redirect_to(302, "/" + std::to_string(number - 1)));
  });
  EXPECT_TRUE(fetch(HttpClientRequest(server->url("/10"))));
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server->url("/11"))), HttpTrouble::kTooManyRedirects);
  EXPECT_EQ(client().stats().redirects, 20u);
  HttpClientRequest none(server->url("/1"));
  none.most_redirects = 0;
  const HttpResponse answer = answer_of(none);
  EXPECT_EQ(answer.status(), 302);
  EXPECT_EQ(answer.body, "moved");
}

TEST_P(HttpRedirectTest, places_nobody_is_led_to) {
  const struct {
    std::string place;
    HttpTrouble trouble;
  } cases[] = {
      {"https://127.0.0.1/", HttpTrouble::kNeedsLayer},      {"ftp://127.0.0.1/", HttpTrouble::kBadRedirect},
      {"file:///etc/passwd", HttpTrouble::kBadRedirect},     {"http://", HttpTrouble::kBadRedirect},
      {"http://user@127.0.0.1/", HttpTrouble::kBadRedirect}, {"http://caf\xc3\xa9/", HttpTrouble::kBadRedirect},
  };
  for (const auto& item : cases) {
    HttpScript& server = serve_redirect(302, item.place);
    EXPECT_EQ(error_of_fetch(HttpClientRequest(server.url("/x"))), item.trouble) << item.place;
  }
}

TEST_P(HttpRedirectTest, statuses_that_lead_nowhere_are_answers) {
  for (const char* text : {"HTTP/1.1 302 Found\r\nContent-Length: 1\r\n\r\nx",
                           "HTTP/1.1 300 Multiple Choices\r\nLocation: /y\r\nContent-Length: 1\r\n\r\nx",
                           "HTTP/1.1 305 Use Proxy\r\nLocation: /y\r\nContent-Length: 1\r\n\r\nx"}) {
    HttpScript& server = serve_text(text);
    EXPECT_EQ(answer_of(HttpClientRequest(server.url("/x"))).body, "x");
  }
}

TEST_P(HttpRedirectTest, the_body_of_a_redirect_is_dropped_and_a_long_one_not_waited_for) {
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    if (request.what() == "GET /y") {
      connection.send(http_ok("there"));
      return;
    }
    connection.send("HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 10000000\r\n\r\n" + std::string(80000, 'x'));
  });
  EXPECT_EQ(answer_of(HttpClientRequest(server.url("/x"))).body, "there");
  EXPECT_EQ(server.opened(), 2u);
}

TEST_P(HttpRedirectTest, a_dead_connection_is_met_on_the_way_too) {
  HttpScript& server = serve([](Connection& connection, const Request& request) {
    if (request.what() == "GET /x") {
      connection.send(redirect_to(302, "/y"));
      return;
    }
    if (request.number != 1) return connection.abort();
    connection.send(http_ok("there"));
  });
  answer_of(HttpClientRequest(server.url("/x")));
  EXPECT_THAT(server.asked(), ElementsAre("GET /x", "GET /y", "GET /y"));
}

TEST_P(HttpRedirectTest, a_streamed_body_does_not_travel) {
  for (const int status : {303, 307}) {
    HttpScript& server = serve([&](Connection& connection, const Request& request) {
      connection.send(request.number == 1 ? redirect_to(status, "/y") : http_ok("there"));
    });
    HttpClientRequest request("POST", server.url("/x"));
    request.streamed = true;
    std::string body;
    const HttpFetchId id =
        begin_fetch(request, {.on_body = [&](HttpFetch&, std::string_view bytes) { body += bytes; }});
    client().find(id)->write("streamed");
    client().find(id)->end_body();
    ASSERT_TRUE(fetch_ends());
    EXPECT_TRUE(*fetched);
    EXPECT_EQ(body, status == 303 ? "there" : "moved") << "307 would need the body again";
  }
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(HttpRedirectTest);

}  // namespace
}  // namespace peal
