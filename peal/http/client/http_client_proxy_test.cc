// SPDX-License-Identifier: BSD-3-Clause
// Requests by a proxy: http requests are sent to the proxy, https requests through a tunnel. Also what a proxy may do
// wrong.
#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <peal/http/client/parts/tunnel_proxy_test.h>
#include <tests/support/http_client_rig.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/sealed/sealing.h>
#include <tests/support/tls/tls_layers.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using test::TestProxy;
using testing::ElementsAre;

class HttpClientProxyTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    if (IsSkipped()) return;
    client_options.layer = &layer_;
    proxy_.emplace(loop());
    client_options.proxies = {.http = proxy_->url(), .https = proxy_->url()};
  }
  void TearDown() override {
    drop_client();
    proxy_.reset();
    HttpClientTest::TearDown();
  }
  TestProxy& proxy() { return *proxy_; }
  HttpScript& serve_secure(std::string text) { return serve_text(std::move(text), {.connection = {.layer = &layer_}}); }
  std::error_code error_when_refused(std::string text, bool closes = false) {
    proxy().refused = std::move(text);
    proxy().closes = closes;
    return error_of_fetch(HttpClientRequest("https://a.test/"));
  }

  const test::SealedLayer layer_;
  std::optional<TestProxy> proxy_;
};

TEST_P(HttpClientProxyTest, http_goes_to_the_proxy_with_the_whole_url) {
  HttpScript& by = serve_text(http_ok("by proxy"));
  client_options.proxies = {.http = "http://me:secret@" + by.address().to_string(), .direct = "127.0.0.1"};
  HttpScript& direct = serve_text(http_ok("direct"));
  EXPECT_EQ(fetch(HttpClientRequest("http://a.test:81/x?y#z"))->body, "by proxy");
  EXPECT_EQ(fetch(HttpClientRequest("http://A.test"))->body, "by proxy");
  EXPECT_EQ(fetch(HttpClientRequest(direct.url()))->body, "direct");
  EXPECT_EQ(by.requests().at(0).head,
            "GET http://a.test:81/x?y HTTP/1.1\r\nHost: a.test:81\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
  EXPECT_EQ(by.requests().at(1).what(), "GET http://a.test/");
  EXPECT_FALSE(direct.requests().at(0).head.contains("Proxy-"));
  EXPECT_EQ(by.opened(), 2u) << "kept for each origin";
  // A Proxy-Authorization of the request replaces the proxy's. A request with connect_to does not use the proxy.
  EXPECT_TRUE(fetch(HttpClientRequest("http://a.test/").add("proxy-authorization", "Own")));
  EXPECT_TRUE(by.requests().back().has("proxy-authorization: Own"));
  EXPECT_EQ(test::HttpScript::Request(by.requests().back()).head.find("Basic"), std::string::npos);
  HttpClientRequest other("http://a.test/");
  other.connect_to = direct.address().to_string();
  EXPECT_EQ(fetch(other)->body, "direct");
  EXPECT_EQ(direct.requests().back().what(), "GET /");
}

TEST_P(HttpClientProxyTest, https_goes_through_a_tunnel_to_the_server_that_is_meant) {
  HttpScript& server = serve_secure(http_ok("sealed"));
  client_options.proxies.https = proxy().url("me:secret@");
  std::optional<Result<LayerFacts>> facts;
  for (int times = 0; times < 2; ++times) {
    begin_fetch(HttpClientRequest(server.secure_url("/x")).add("Proxy-Authorization", "Own"),
                {.on_head = [&](HttpFetch& fetch, const auto&) { facts = fetch.layer_facts(); }});
    ASSERT_TRUE(fetch_ends());
    ASSERT_TRUE(*fetched) << fetched->error().message();
  }
  EXPECT_EQ((*facts)->peer, "127.0.0.1");
  const std::string where = server.address().to_string();
  EXPECT_THAT(proxy().heads, ElementsAre("CONNECT " + where + " HTTP/1.1\r\nHost: " + where +
                                         "\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n"));
  EXPECT_EQ(server.opened(), 1u) << "the tunnel is kept";
  EXPECT_EQ(server.requests().at(0).head, "GET /x HTTP/1.1\r\nHost: " + where + "\r\n\r\n");
  EXPECT_EQ(client().stats().connected, 1u);
}

TEST_P(HttpClientProxyTest, the_layer_is_told_the_host_of_the_url) {
  HttpScript& server = serve_secure(http_ok("sealed"));
  proxy().to = server.address().to_string();
  std::string peer;
  begin_fetch(HttpClientRequest("https://Example.test/"),
              {.on_head = [&](HttpFetch& fetch, const auto&) { peer = fetch.layer_facts()->peer; }});
  ASSERT_TRUE(fetch_ends());
  EXPECT_EQ(peer, "example.test");
  EXPECT_TRUE(proxy().heads.at(0).starts_with("CONNECT example.test:443 HTTP/1.1\r\nHost: example.test:443\r\n"));
}

TEST_P(HttpClientProxyTest, what_the_proxy_answers_instead_of_a_tunnel_is_a_value) {
  const auto refusal = [&](std::string text, bool closes = false) {
    return status_of_proxy(error_when_refused(std::move(text), closes));
  };
  EXPECT_EQ(refusal("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 900\r\n\r\nbody"), 407);
  EXPECT_EQ(refusal("HTTP/1.0 502 Bad\r\n\r\nbody until the end", true), 502);
  EXPECT_EQ(refusal("HTTP/1.1 302 There\r\nLocation: http://b.test/\r\nContent-Length: 0\r\n\r\n"), 302);
  EXPECT_EQ(refusal("HTTP/1.1 101 Switching\r\n\r\n"), 101);
  EXPECT_EQ(refusal("HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 103 Early\r\n\r\nHTTP/1.1 504 Late\r\n\r\n"), 504);
  EXPECT_EQ(proxy_refusal(407).message(), "the proxy answers 407 instead of opening a tunnel");
  EXPECT_FALSE(is_malformed_answer(proxy_refusal(407)));
  EXPECT_EQ(status_of_proxy(make_error_code(HttpTrouble::kMalformed)), 0);
  EXPECT_EQ(client().stats().connections, 0u);
  EXPECT_EQ(client().stats().connect_failed, 5u);
}

TEST_P(HttpClientProxyTest, what_is_no_answer_to_connect) {
  EXPECT_TRUE(is_malformed_answer(error_when_refused("SSH-2.0-OpenSSH\r\n\r\n")));
  EXPECT_EQ(error_when_refused("HTTP/1.1 200", true), HttpTrouble::kClosedEarly);
  EXPECT_TRUE(is_malformed_answer(error_when_refused("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'))));
  // Bytes after the 200 count as the server's, even if the answer claims to have a body.
  EXPECT_EQ(error_when_refused("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome body"), test::no_seal_hello());
  client_options.client.connect_timeout = std::chrono::milliseconds(30);
  drop_client();
  EXPECT_EQ(error_when_refused("HTTP/1.1 100 Wait\r\n\r\n"), HttpTrouble::kConnectTimeout);
  EXPECT_EQ(error_when_refused("HTTP/1.1 200 OK\r\n\r\n"), HttpTrouble::kConnectTimeout) << "and then nothing";
  EXPECT_EQ(client().stats().connections, 0u);
}

// This happens if the proxy reads the server's bytes before it has answered CONNECT.
TEST_P(HttpClientProxyTest, the_servers_first_bytes_may_come_with_the_proxys_answer) {
  std::string sealed(test::kSealHello);
  proxy().refused = "HTTP/1.1 200 OK\r\n\r\n" + sealed;
  client_options.deadlines.first_byte = std::chrono::milliseconds(30);
  EXPECT_EQ(error_of_fetch(HttpClientRequest("https://a.test/")), HttpTrouble::kFirstByteTimeout);
  EXPECT_EQ(client().stats().connected, 1u) << "the handshake is done";
}

TEST_P(HttpClientProxyTest, a_proxy_that_is_not_there) {
  std::string gone;
  {
    Server nobody(loop(), {});
    gone = nobody.listen("127.0.0.1:0").value().to_string();
  }
  client_options.proxies = {.http = gone, .https = gone};
  EXPECT_EQ(error_of_fetch(HttpClientRequest("https://a.test/")), errno_code(ECONNREFUSED));
  EXPECT_EQ(error_of_fetch(HttpClientRequest("http://a.test/")), errno_code(ECONNREFUSED));
}

TEST_P(HttpClientProxyTest, redirects_find_their_own_way) {
  HttpScript& secure = serve_secure(http_ok("sealed"));
  HttpScript& by =
      serve_text("HTTP/1.1 302 There\r\nContent-Length: 0\r\nLocation: " + secure.secure_url("/y") + "\r\n\r\n");
  client_options.proxies = {.http = "me:secret@" + by.address().to_string(), .https = proxy().url()};
  EXPECT_EQ(answer_of(HttpClientRequest("http://a.test/x").add("Proxy-Authorization", "Own")).body, "sealed");
  EXPECT_FALSE(proxy().heads.at(0).contains("Authorization")) << "another proxy";
  EXPECT_EQ(secure.requests().at(0).what(), "GET /y");
  EXPECT_FALSE(secure.requests().at(0).head.contains("Authorization"));
}

TEST_P(HttpClientProxyTest, what_may_change_the_protocol_goes_through_a_tunnel_too) {
  HttpScript* server = nullptr;
  server = &serve([&](Connection& connection, const Request&) {
    server->on_bytes = [](Connection& its, Buffer& input) { its.send("re:" + input.to_string()); };
    connection.send("HTTP/1.1 101 Switching Protocols\r\n\r\n");
  });
  HttpClientRequest request(server->url("/ws"));
  request.may_upgrade = true;
  std::string got;
  const HttpFetchId id = begin_fetch(request, {.on_head = [](HttpFetch& fetch, const auto&) { fetch.write("hello"); },
                                               .on_body = [&](HttpFetch&, auto bytes) { got += bytes; }});
  ASSERT_TRUE(run_until([&] { return got == "re:hello"; }));
  EXPECT_EQ(server->requests().at(0).what(), "GET /ws");
  client().cancel(id);
  proxy().refused = "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 101 Early\r\n\r\n";
  EXPECT_EQ(error_of_fetch(request), errno_code(EPROTO)) << "an answer before the question";
}

TEST_P(HttpClientProxyTest, cancelled_and_destroyed_before_the_tunnel_is_there) {
  proxy().refused = "HTTP/1.1 200";
  const auto nothing = [](const Result<HttpResponse>&) { ADD_FAILURE(); };
  const auto id = client().fetch(HttpClientRequest("https://a.test/"), nothing);
  ASSERT_TRUE(run_until([&] { return proxy().heads.size() == 1; }));
  client().cancel(*id);
  EXPECT_EQ(client().stats().connections, 0u);
  ASSERT_TRUE(client().fetch(HttpClientRequest("https://a.test/"), nothing));
  ASSERT_TRUE(run_until([&] { return proxy().heads.size() == 2; }));
  drop_client();
}

TEST_P(HttpClientProxyTest, a_proxy_that_cannot_reach_the_server_is_asked_again_where_that_is_wanted) {
  client_options.retry.attempts = 3;
  client_options.retry.first_delay = std::chrono::milliseconds(1);
  EXPECT_EQ(status_of_proxy(error_when_refused("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n")), 503);
  EXPECT_EQ(proxy().heads.size(), 3u);
  EXPECT_EQ(status_of_proxy(error_when_refused("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")), 407);
  EXPECT_EQ(proxy().heads.size(), 4u);
}

TEST_P(HttpClientProxyTest, tls_inside_the_tunnel_with_the_server_that_is_meant) {
  client_options.layer = &test::tls_client();
  HttpScript& server = serve_text(http_ok("over TLS"), {.connection = {.layer = &test::tls_server()}});
  proxy().to = server.address().to_string();
  for (const char* url : {"https://localhost/", "https://127.0.0.1:444/", "https://localhost/again"}) {
    EXPECT_EQ(answer_of(HttpClientRequest(url)).body, "over TLS");
  }
  EXPECT_EQ(proxy().heads.size(), 2u);
  EXPECT_TRUE(error_of_fetch(HttpClientRequest("https://wrong.test/"))) << "it cannot prove to be that";
  EXPECT_EQ(server.requests().size(), 3u);
}

TEST_P(HttpClientProxyTest, options_that_make_no_sense_are_refused) {
  HttpClientOptions options;
  options.proxies.https = "socks5://127.0.0.1";
  EXPECT_THROW(HttpClient(loop(), options), std::invalid_argument);
  options.proxies = {.http = "127.0.0.1:1"};
  options.client.connection.layer = &layer_;
  EXPECT_THROW(HttpClient(loop(), options), std::invalid_argument);
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpClientProxyTest);

}  // namespace
}  // namespace peal
