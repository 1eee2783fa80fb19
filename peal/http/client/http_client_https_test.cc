// SPDX-License-Identifier: BSD-3-Clause
// https over HttpClientOptions::layer, here tests/support/sealed: which requests use the layer, which host the
// handshake must prove, and that nothing is sent in the clear. The other suites run on sealed engines too, and so show
// that everything else works over a layer.
#include <gmock/gmock.h>

#include <peal/http/client/http_client.h>
#include <tests/support/http_client_rig.h>
#include <tests/support/sealed/sealed_port.h>
#include <tests/support/sealed/sealing.h>

namespace peal {
namespace {

using test::http_ok;
using test::HttpScript;
using testing::ElementsAre;

std::string redirect_to(const std::string& place, int status = 307) {
  return fmt::format("HTTP/1.1 {} Elsewhere\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", status, place);
}

class HttpClientHttpsTest : public test::HttpClientTest {
 protected:
  void SetUp() override {
    HttpClientTest::SetUp();
    client_options.layer = &layer_;
  }
  HttpScript& serve_secure(HttpScript::Answer answer) {
    return serve(std::move(answer), "127.0.0.1:0", {.connection = {.layer = &layer_}});
  }
  HttpScript& serve_secure_text(std::string text) {
    return serve_text(std::move(text), {.connection = {.layer = &layer_}});
  }
  // Starts a server without a layer that sends exactly these bytes, whatever it receives, and then ends.
  std::unique_ptr<Server> serve_raw(std::string bytes) {
    auto server = std::make_unique<Server>(
        loop(), ConnectionCallbacks{.on_open = [bytes](Connection& connection) { connection.send(bytes); },
                                    .on_message =
                                        [](Connection& connection, Buffer& input) {
                                          const bool asked = input.size() > test::kSealHello.size();
                                          input.clear();
                                          if (asked) connection.close();
                                        }});
    raw_url_ = "https://" + server->listen("127.0.0.1:0").value().to_string() + "/";
    return server;
  }

  std::string raw_url_;
  const test::SealedLayer layer_;
};

TEST_P(HttpClientHttpsTest, a_request_and_its_answer_on_a_connection_that_is_kept) {
  HttpScript& server = serve_secure([](Connection& connection, const Request& request) {
    connection.send(http_ok(request.body.empty() ? "hello" : request.body));
  });
  const HttpResponse first = answer_of(HttpClientRequest(server.secure_url("/a?b")));
  EXPECT_EQ(first.body, "hello");
  EXPECT_EQ(first.url, server.secure_url("/a?b"));
  const std::string large(300'000, 'x');
  EXPECT_EQ(answer_of(HttpClientRequest("PUT", server.secure_url(), large)).body, large);
  EXPECT_THAT(server.asked(), ElementsAre("GET /a?b", "PUT /"));
  EXPECT_TRUE(server.requests().at(0).has("Host: " + server.address().to_string()));
  EXPECT_EQ(server.opened(), 1u);
}

TEST_P(HttpClientHttpsTest, what_is_meant_for_the_layer_and_what_is_not_never_share_a_connection) {
  HttpScript& secure = serve_secure_text(http_ok("sealed"));
  HttpScript& plain = serve(nullptr);
  size_t asked = 0;
  plain.on_bytes = [&](Connection& connection, Buffer& input) {
    if (!input.view().starts_with("GET ")) return connection.abort();
    ++asked;
    connection.send(http_ok("plain"));
  };
  ASSERT_TRUE(fetch(HttpClientRequest(secure.secure_url())));
  ASSERT_TRUE(fetch(HttpClientRequest(plain.url())));
  ASSERT_EQ(client().stats().idle, 2u);
  // An http request to the server with a layer, and an https request to the server without one, must both fail. They
  // must not use the idle connection to the same host and port.
  EXPECT_TRUE(error_of_fetch(HttpClientRequest(secure.url())));
  EXPECT_TRUE(error_of_fetch(HttpClientRequest(plain.secure_url())));
  EXPECT_EQ(client().stats().idle, 2u);
  EXPECT_EQ(secure.requests().size(), 1u);
  EXPECT_EQ(asked, 1u);
}

// A connection over a layer is reused only for the host that the peer has proved to be, not for the same connect_to.
TEST_P(HttpClientHttpsTest, two_hosts_by_one_way_do_not_share_a_connection) {
  HttpScript& secure = serve_secure_text(http_ok("sealed"));
  HttpScript& plain = serve_text(http_ok("plain"));
  for (const char* host : {"a.test", "b.test", "a.test"}) {
    for (HttpScript* server : {&secure, &plain}) {
      HttpClientRequest request((server == &secure ? "https://" : "http://") + std::string(host) + "/");
      request.connect_to = server->address().to_string();
      ASSERT_TRUE(fetch(request));
      EXPECT_TRUE(server->requests().back().has("Host: " + std::string(host)));
    }
  }
  EXPECT_EQ(secure.opened(), 2u);
  EXPECT_EQ(plain.opened(), 1u) << "a proxy's are for everybody";
}

// The facts of the sealed layer name the host that the handshake was for.
TEST_P(HttpClientHttpsTest, the_layer_is_told_the_host_of_the_url_whatever_the_way_to_it) {
  HttpScript& server = serve_secure_text(http_ok("x"));
  const struct {
    std::string url, host;
  } cases[] = {
      {server.secure_url(), "127.0.0.1"},
      {"https://Example.ORG/", "example.org"},
      {"https://example.org:8443/", "example.org"},
      {"https://[::1]:8443/", "::1"},
  };
  for (const auto& item : cases) {
    HttpClientRequest request(item.url);
    if (item.url != server.secure_url()) request.connect_to = server.address().to_string();
    std::optional<Result<LayerFacts>> at_head;
    const HttpFetchId id = begin_fetch(
        request, {.on_head = [&](HttpFetch& fetch, const HttpResponseHead&) { at_head = fetch.layer_facts(); }});
    EXPECT_EQ(client().find(id)->layer_facts().error(), errno_code(ENOTCONN));
    ASSERT_TRUE(fetch_ends());
    ASSERT_TRUE(*fetched) << fetched->error().message();
    ASSERT_TRUE(at_head && *at_head) << item.url;
    EXPECT_EQ((*at_head)->peer, item.host);
    EXPECT_EQ((*at_head)->protocol, "sealed");
  }
}

TEST_P(HttpClientHttpsTest, what_the_handshake_fails_with_is_the_layers_own) {
  Server rude(loop(), ConnectionCallbacks{.on_open = [](Connection& connection) { connection.send("HTTP/1.1 400"); }});
  EXPECT_EQ(error_of_fetch(HttpClientRequest("https://" + rude.listen("127.0.0.1:0").value().to_string() + "/")),
            test::no_seal_hello());
}

TEST_P(HttpClientHttpsTest, without_a_layer_https_is_refused_with_a_sentence) {
  client_options.layer = nullptr;
  HttpScript& server = serve_secure_text(http_ok("sealed"));
  const std::error_code error = error_of_fetch(HttpClientRequest(server.secure_url()));
  EXPECT_EQ(error, HttpTrouble::kNeedsLayer);
  EXPECT_EQ(error.message(), "an https URL needs a layer, TLS: HttpClientOptions::layer is null");
  // The layer for http connections is not used for https.
  drop_client();
  client_options.client.connection.layer = &layer_;
  EXPECT_EQ(error_of_fetch(HttpClientRequest(server.secure_url())), HttpTrouble::kNeedsLayer);
  EXPECT_TRUE(fetch(HttpClientRequest(server.url()))) << "http over a layer is the user's own affair";
}

TEST_P(HttpClientHttpsTest, redirects_to_https_are_followed_and_leave_credentials_behind) {
  HttpScript& there = serve_secure_text(http_ok("there"));
  HttpScript& here = serve_text(redirect_to(there.secure_url("/y")));
  const HttpResponse answer = answer_of(HttpClientRequest("PUT", here.url("/x"), "body")
                                            .add("Authorization", "Basic c2VjcmV0")
                                            .add("Cookie", "id=1")
                                            .add("Referer", "http://example.org/")
                                            .add("X-Own", "1"));
  EXPECT_EQ(answer.url, there.secure_url("/y"));
  const Request& second = there.requests().at(0);
  EXPECT_EQ(second.what(), "PUT /y");
  EXPECT_EQ(second.body, "body");
  EXPECT_FALSE(second.head.contains("Authorization"));
  EXPECT_FALSE(second.head.contains("Cookie"));
  EXPECT_TRUE(second.has("Referer: http://example.org/"));
  EXPECT_TRUE(second.has("X-Own: 1"));
}

TEST_P(HttpClientHttpsTest, redirects_from_https_to_http_leave_the_referer_behind_too) {
  HttpScript& there = serve_text(http_ok("there"));
  HttpScript& here = serve_secure_text(redirect_to(there.url("/y")));
  const auto request = [&] {
    return HttpClientRequest(here.secure_url("/x"))
        .add("authorization", "Basic c2VjcmV0")
        .add("Cookie", "id=1")
        .add("referer", here.secure_url("/secret"))
        .add("X-Own", "1");
  };
  EXPECT_EQ(answer_of(request()).url, there.url("/y"));
  EXPECT_EQ(there.requests().at(0).head,
            "GET /y HTTP/1.1\r\nHost: " + there.address().to_string() + "\r\nX-Own: 1\r\n\r\n");
  drop_client();
  client_options.plain_redirects = false;
  EXPECT_EQ(error_of_fetch(request()), HttpTrouble::kPlainRedirect);
  EXPECT_EQ(there.requests().size(), 1u);
  EXPECT_EQ(client().stats().redirects, 0u);
}

TEST_P(HttpClientHttpsTest, redirects_within_https_keep_what_is_the_origins) {
  HttpScript* server = nullptr;
  server = &serve_secure([&](Connection& connection, const Request& request) {
    connection.send(request.what() == "GET /x" ? redirect_to(server->secure_url("/y")) : http_ok("there"));
  });
  client_options.plain_redirects = false;
  ASSERT_TRUE(
      fetch(HttpClientRequest(server->secure_url("/x")).add("Cookie", "id=1").add("Referer", "https://a.test/")));
  EXPECT_TRUE(server->requests().at(1).has("Cookie: id=1"));
  EXPECT_TRUE(server->requests().at(1).has("Referer: https://a.test/"));
  EXPECT_EQ(server->opened(), 1u);
}

TEST_P(HttpClientHttpsTest, a_body_that_ends_with_the_connection_is_complete_only_where_the_layer_has_ended) {
  const std::string sealed = std::string(test::kSealHello) + test::sealed_text("HTTP/1.1 200 OK\r\n\r\npart");
  {
    const auto server = serve_raw(sealed + std::string(test::kEndMark));
    EXPECT_EQ(answer_of(HttpClientRequest(raw_url_)).body, "part");
  }
  const auto server = serve_raw(sealed);
  EXPECT_EQ(error_of_fetch(HttpClientRequest(raw_url_)), Trouble::kTruncated);
  EXPECT_EQ(client().stats().failed, 1u);
}

TEST_P(HttpClientHttpsTest, a_peer_that_does_not_shake_hands) {
  client_options.client.connect_timeout = std::chrono::milliseconds(100);
  Server silent(loop(), ConnectionCallbacks{.on_message = [](Connection&, Buffer& input) { input.clear(); }});
  const std::string url = "https://" + silent.listen("127.0.0.1:0").value().to_string() + "/";
  EXPECT_EQ(error_of_fetch(HttpClientRequest(url)), HttpTrouble::kConnectTimeout);
  Server rude(loop(), ConnectionCallbacks{.on_open = [](Connection& connection) { connection.abort(); }});
  EXPECT_TRUE(error_of_fetch(HttpClientRequest("https://" + rude.listen("127.0.0.1:0").value().to_string() + "/")));
  EXPECT_EQ(client().stats().connect_failed, 2u);
  EXPECT_EQ(client().stats().connections, 0u);
}

TEST_P(HttpClientHttpsTest, a_tunnel_through_a_server_over_the_layer) {
  HttpScript& server = serve_secure(nullptr);
  server.on_bytes = [](Connection& connection, Buffer& input) {
    if (!input.view().starts_with("CONNECT ")) {
      connection.send(std::move(input));
      return;
    }
    connection.send("HTTP/1.1 200 OK\r\n\r\nfirst ");
  };
  HttpClientRequest request("CONNECT", server.secure_url());
  request.target = "example.org:25";
  request.may_upgrade = true;
  std::string heard;
  begin_fetch(request, {.on_head = [](HttpFetch& fetch, const HttpResponseHead&) { fetch.write("second"); },
                        .on_body =
                            [&](HttpFetch& fetch, std::string_view bytes) {
                              heard += bytes;
                              if (heard == "first second") fetch.end_body();
                            }});
  ASSERT_TRUE(fetch_ends()) << heard;
  EXPECT_TRUE(*fetched) << fetched->error().message();
  EXPECT_EQ(heard, "first second");
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(HttpClientHttpsTest);

}  // namespace
}  // namespace peal
