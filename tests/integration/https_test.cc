// SPDX-License-Identifier: BSD-3-Clause
// Tests of HTTP and WebSocket over TLS, set up as a user does it: the TLS contexts are options of the server and the
// client. Other suites test HTTP over layers. This one checks that the options of HTTP and TLS work together.
#include <gmock/gmock.h>

#include <peal/http/server/http_server.h>
#include <peal/http/server/redirect_to_https.h>
#include <peal/http/websocket/websocket_client.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <tests/support/http_client_rig.h>
#include <tests/support/tls/tls_layers.h>

namespace peal {
namespace {

using testing::HasSubstr;

class HttpsTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    if (IsSkipped()) return;
    client_options.layer = &test::tls_client();
    Router router;
    router.get("/", [](HttpExchange& exchange) {
      const Result<LayerFacts> facts = exchange.layer_facts();
      exchange.respond(200, "", facts ? facts->protocol + (exchange.is_secure() ? " secure" : "") : "plain");
    });
    WebSocketCallbacks echoing;
    echoing.on_message = [](WebSocket& socket, WebSocketKind kind, std::string_view text) { socket.send(kind, text); };
    router.get("/ws", WebSocketEndpoint(std::move(echoing)));
    server_.emplace(loop(), std::move(router), HttpServerOptions{.layer = &test::tls_server(), .hsts = HstsOptions{}});
    port_ = server_->listen("127.0.0.1:0").value().port();
    plain_.emplace(loop(), Router(redirect_to_https(port_)));
    plain_port_ = plain_->listen("127.0.0.1:0").value().port();
  }
  void TearDown() override {
    drop_client();
    server_.reset();
    plain_.reset();
    HttpClientTest::TearDown();
  }
  std::string url(std::string_view scheme, std::string_view host, std::string_view path) const {
    return fmt::format("{}://{}:{}{}", scheme, host, port_, path);
  }

  std::optional<HttpServer> server_, plain_;
  uint16_t port_ = 0, plain_port_ = 0;
};

TEST_P(HttpsTest, a_page_by_address_and_by_name_whatever_the_way) {
  const auto answer = fetch(HttpClientRequest(url("https", "127.0.0.1", "/")));
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->body, "TLSv1.3 secure");
  EXPECT_EQ(answer->find("Strict-Transport-Security"), "max-age=31536000");
  HttpClientRequest named(url("https", "localhost", "/"));
  named.connect_to = fmt::format("127.0.0.1:{}", port_);
  EXPECT_EQ(fetch(named)->body, "TLSv1.3 secure");
  EXPECT_EQ(client().stats().connected, 2u);
}

TEST_P(HttpsTest, a_server_that_is_not_the_urls_host_is_asked_nothing) {
  HttpClientRequest request(url("https", "example.org", "/"));
  request.connect_to = fmt::format("127.0.0.1:{}", port_);
  EXPECT_EQ(fetch(HttpClientRequest(url("https", "127.0.0.1", "/")))->status(), 200);
  EXPECT_TRUE(error_of_fetch(request)) << "an idle connection to that address must not be used";
  EXPECT_EQ(server_->stats().requests, 1u);
}

TEST_P(HttpsTest, the_plain_port_leads_to_it_and_the_wrong_scheme_is_told_so) {
  const auto led = fetch(HttpClientRequest(fmt::format("http://127.0.0.1:{}/", plain_port_)));
  ASSERT_TRUE(led) << led.error().message();
  EXPECT_EQ(led->url, url("https", "127.0.0.1", "/"));
  EXPECT_EQ(led->body, "TLSv1.3 secure");
  const auto clear = fetch(HttpClientRequest(url("http", "127.0.0.1", "/")));
  ASSERT_TRUE(clear) << clear.error().message();
  EXPECT_EQ(clear->status(), 400);
  EXPECT_EQ(clear->body, "This port speaks HTTPS: use https://\n");
}

TEST_P(HttpsTest, tls_to_the_plain_port_is_refused_counted_and_named) {
  std::vector<std::string> lines;
  set_log_sink([&](const LogRecord& record) { lines.emplace_back(record.text); });
  EXPECT_TRUE(error_of_fetch(HttpClientRequest(fmt::format("https://127.0.0.1:{}/", plain_port_))));
  EXPECT_EQ(plain_->stats().tls_hellos, 1u);
  EXPECT_THAT(lines, testing::Contains(HasSubstr("speaks TLS to")));
  set_log_sink([](const LogRecord&) {});
}

TEST_P(HttpsTest, wss) {
  std::vector<std::string> heard;
  WebSocketCallbacks callbacks;
  callbacks.on_open = [](WebSocket& socket) { socket.send_text("Hello"); };
  callbacks.on_message = [&](WebSocket& socket, WebSocketKind, std::string_view text) {
    heard.emplace_back(text);
    socket.close();
  };
  callbacks.on_close = [&](WebSocket&, uint16_t code, std::string_view) { heard.push_back(std::to_string(code)); };
  WebSocketClient socket(loop(), std::move(callbacks), {.layer = &test::tls_client()});
  ASSERT_TRUE(socket.connect(url("wss", "127.0.0.1", "/ws")));
  ASSERT_TRUE(run_until([&] { return heard.size() == 2; }));
  EXPECT_THAT(heard, testing::ElementsAre("Hello", "1000"));
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpsTest);

}  // namespace
}  // namespace peal
