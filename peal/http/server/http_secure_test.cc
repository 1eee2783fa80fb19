// SPDX-License-Identifier: BSD-3-Clause
// Tests what an HttpServer does differently with a layer; tests/support/sealed replaces TLS. The other suites show that
// the rest works the same with a layer: they run on sealed engines. Here the layer is an option of the server.
#include <future>
#include <stdexcept>

#include <gmock/gmock.h>

#include <peal/base/log.h>
#include <peal/loop/loop_group.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kGetAndClose = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
// The first bytes of a TLS ClientHello.
constexpr std::string_view kTlsHello{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15};

class HttpSecureTest : public test::HttpTest {
 protected:
  static Router saying_whether_secure() {
    Router router;
    router.get("/", [](HttpExchange& exchange) {
      exchange.respond(200, "", exchange.is_secure() ? "secure" : "in the clear");
    });
    return router;
  }
  // Makes the peers seal from now on, as the server's connections do.
  HttpServer& serve_secure(Router router, HttpServerOptions options = {}) {
    RawPeer::seal_all(true);
    options.layer = &layer_;
    return serve(std::move(router), options);
  }
  HttpServer& serve_plain(Router router, HttpServerOptions options = {}) {
    RawPeer::seal_all(false);
    options.layer = nullptr;
    return serve(std::move(router), options);
  }

  const test::SealedLayer layer_;
};

TEST_P(HttpSecureTest, an_exchange_knows_whether_it_came_over_a_layer) {
  serve_secure(saying_whether_secure());
  EXPECT_THAT(answer_to(kGetAndClose), testing::EndsWith("\r\n\r\nsecure"));
  serve_plain(saying_whether_secure());
  EXPECT_THAT(answer_to(kGetAndClose), testing::EndsWith("\r\n\r\nin the clear"));
}

TEST_P(HttpSecureTest, what_was_agreed_on_is_the_exchanges_to_ask) {
  Router router;
  router.get("/", [](HttpExchange& exchange) {
    const Result<LayerFacts> facts = exchange.layer_facts();
    exchange.respond(200, "", facts ? facts->protocol : facts.error().message());
  });
  std::optional<Result<LayerFacts>> late;
  router.get("/late", [&](HttpExchange& exchange) {
    exchange.on_abandoned([&](HttpExchange& it) { late = it.layer_facts(); });
  });
  serve_secure(std::move(router));
  EXPECT_THAT(answer_to(kGetAndClose), testing::EndsWith("\r\n\r\nsealed"));
  RawPeer gone = peer_sending("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wait_until([&] { return server().stats().requests == 2; }));
  gone.reset();
  EXPECT_TRUE(wait_until([&] { return late.has_value(); }));
  EXPECT_EQ(late->error(), errno_code(ENOTCONN));
  Router again;
  again.get("/", [](HttpExchange& exchange) {
    exchange.respond(200, "", exchange.layer_facts().error() == errno_code(ENOTSUP) ? "none" : "?");
  });
  serve_plain(std::move(again));
  EXPECT_THAT(answer_to(kGetAndClose), testing::EndsWith("\r\n\r\nnone"));
}

TEST_P(HttpSecureTest, who_speaks_http_in_the_clear_is_told_so_in_the_clear) {
  serve_secure(saying_whether_secure(), {.hsts = HstsOptions{}});
  RawPeer::seal_all(false);
  for (const std::string_view request : {kGetAndClose, std::string_view("GET / HTTP/1.1\r\nHost: a\r\n\r\n")}) {
    // The sealed layer sends first; with TLS the client begins.
    EXPECT_EQ(answer_to(request), std::string(test::kSealHello) +
                                      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 37\r\n"
                                      "Connection: close\r\n\r\nThis port speaks HTTPS: use https://\n");
  }
  EXPECT_EQ(server().stats().requests, 0u) << "it is the layer's to count";
  EXPECT_EQ(server().server().stats().handshakes_failed, 2u);
}

// Checks RFC 6797 7.1 and 7.2.
TEST_P(HttpSecureTest, hsts_is_in_every_answer_over_a_layer_and_in_none_without) {
  const HttpServerOptions options{.server_name = "peal", .hsts = HstsOptions{}};
  serve_secure(saying_whether_secure(), options);
  constexpr std::string_view kLine = "\r\nStrict-Transport-Security: max-age=31536000\r\n";
  for (const std::string_view request :
       {kGetAndClose, std::string_view("GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        std::string_view("OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        std::string_view("no HTTP\r\n\r\n")}) {
    const std::string answer = answer_to(request);
    EXPECT_EQ(test::count_of(answer, kLine), 1u) << answer;
    EXPECT_THAT(answer, HasSubstr("\r\nServer: peal\r\n"));
  }
  RawPeer kept = peer_sending("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(hears(kept, kLine, 2));
  serve_plain(saying_whether_secure(), options);
  EXPECT_THAT(answer_to(kGetAndClose), Not(HasSubstr("Strict-Transport-Security")));
  EXPECT_THAT(answer_to(kGetAndClose), HasSubstr("\r\nServer: peal\r\n"));
}

TEST_P(HttpSecureTest, what_hsts_may_say) {
  const struct {
    HstsOptions hsts;
    std::string_view value;
  } cases[] = {
      {{.max_age = std::chrono::minutes(5)}, "max-age=300"},
      {{.max_age = std::chrono::seconds(0)}, "max-age=0"},
      {{.max_age = std::chrono::seconds(1), .include_subdomains = true}, "max-age=1; includeSubDomains"},
      {{.include_subdomains = true, .preload = true}, "max-age=31536000; includeSubDomains; preload"},
  };
  for (const auto& item : cases) {
    serve_secure(saying_whether_secure(), {.hsts = item.hsts});
    EXPECT_THAT(answer_to(kGetAndClose), HasSubstr(fmt::format("\r\nStrict-Transport-Security: {}\r\n", item.value)));
  }
  for (const HstsOptions& bad :
       {HstsOptions{.max_age = std::chrono::seconds(-1)}, HstsOptions{.preload = true},
        HstsOptions{.max_age = std::chrono::days(364), .include_subdomains = true, .preload = true}}) {
    EXPECT_THROW(HttpServer(loop(), Router(), {.hsts = bad}), std::invalid_argument) << "also of a plain server";
  }
}

TEST_P(HttpSecureTest, a_tls_hello_on_a_plain_port_is_named_in_the_log_and_counted) {
  std::vector<std::string> warnings;  // used on the loop's thread
  set_log_sink([&](const LogRecord& record) {
    if (record.level == LogLevel::kWarn) warnings.emplace_back(record.text);
  });
  serve_plain(saying_whether_secure());
  for (int i = 0; i < 3; ++i) EXPECT_THAT(answer_to(kTlsHello), testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  // Neither of the two is TLS.
  for (const std::string_view other : {"\x16\x02\x01\r\n\r\n", "\x15\x03\x01\r\n\r\n"}) {
    EXPECT_THAT(answer_to(other), testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  }
  EXPECT_EQ(server().stats().tls_hellos, 3u);
  EXPECT_EQ(server().stats().malformed, 5u);
  EXPECT_EQ(server().stats().answers[4], 5u);
  const std::vector<std::string> lines = ask([&] { return warnings; });
  ASSERT_GE(lines.size(), 1u);
  EXPECT_LE(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("speaks TLS to " + address().to_string() + ", a port without it"));
  EXPECT_THAT(lines[0], testing::StartsWith("127.0.0.1:"));
}

TEST_P(HttpSecureTest, a_tls_hello_inside_a_layer_is_no_such_thing) {
  serve_secure(saying_whether_secure());
  EXPECT_THAT(answer_to(kTlsHello), testing::StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_EQ(server().stats().tls_hellos, 0u);
  EXPECT_EQ(server().stats().malformed, 1u);
}

TEST_P(HttpSecureTest, several_loops_serve_over_one_layer_and_drain) {
  RawPeer::seal_all(true);
  for (const AcceptMode accept : {AcceptMode::kReusePort, AcceptMode::kRoundRobin}) {
    const auto group = LoopGroup::start(2, group_options()).value();
    HttpServer server(*group, saying_whether_secure(), {.accept = accept, .layer = &layer_, .drain_grace = {}});
    const SocketAddress where = server.listen("127.0.0.1:0").value();
    std::vector<RawPeer> peers(8);
    for (RawPeer& each : peers) {
      each.connect(where);
      each.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for (RawPeer& each : peers) EXPECT_TRUE(hears(each, "\r\n\r\nsecure"));
    auto draining = std::async(std::launch::async, [&] { return server.drain_and_wait(std::chrono::seconds(20)); });
    for (RawPeer& each : peers) {
      EXPECT_TRUE(ends(each));
      EXPECT_FALSE(each.cut_short());
      each.close();
    }
    const DrainReport report = draining.get();
    EXPECT_EQ(report.finished, peers.size());
    EXPECT_EQ(report.forced, 0u);
  }
}

PEAL_TEST_ON_EVERY_ENGINE(HttpSecureTest);

}  // namespace
}  // namespace peal
