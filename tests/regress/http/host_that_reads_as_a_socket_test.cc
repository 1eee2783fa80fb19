// SPDX-License-Identifier: BSD-3-Clause
// http://unix:8080/ connected to the socket file "8080" of the working directory. The host and the port of the URL were
// joined to "unix:8080", which is how peal writes the address of a unix socket. So the redirect of a web page could
// make a client talk to services that only processes of this machine can reach. ws://unix:8080/ and a proxy of this
// name had the same defect.
#include <filesystem>

#include <peal/http/websocket/websocket_client.h>
#include <tests/support/dns/resolver_rig.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/http_client_rig.h>

namespace peal {
namespace {

class HostThatReadsAsASocket : public test::ResolverTest {
 protected:
  void SetUp() override {
    ResolverTest::SetUp();
    if (IsSkipped()) return;
    before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path(""));
    ask([&] {
      local.emplace(loop(), answer(), "unix:8080");
      page.emplace(loop(), [](Connection& connection, const test::HttpScript::Request&) {
        connection.send("HTTP/1.1 302 F\r\nLocation: http://unix:8080/secret\r\nContent-Length: 0\r\n\r\n");
      });
    });
  }
  void TearDown() override {
    ask([&] {
      local.reset();
      page.reset();
    });
    std::filesystem::current_path(before);
    ResolverTest::TearDown();
  }
  static test::HttpScript::Answer answer() {
    return [](Connection& connection, const test::HttpScript::Request&) { connection.send(test::http_ok("local")); };
  }
  HttpClientOptions asking() {
    HttpClientOptions options;
    options.client.resolver = &*resolver;
    return options;
  }
  // Returns the body, or the message of the error.
  std::string fetch(const std::string& url, const HttpClientOptions& options) {
    std::optional<HttpClient> client;
    std::string outcome;
    ask([&] {
      client.emplace(loop(), options);
      const auto begun = client->fetch(HttpClientRequest(url), [&](Result<HttpResponse> response) {
        outcome = response ? response->body : response.error().message();
      });
      EXPECT_TRUE(begun);
    });
    EXPECT_TRUE(answer_until([&] { return !outcome.empty(); }));
    ask([&] { client.reset(); });
    return outcome;
  }

  const test::TemporaryFolder folder;
  std::filesystem::path before;
  std::optional<test::HttpScript> local;
  std::optional<test::HttpScript> page;
};

const std::string kNoSuchHost = make_error_code(Trouble::kHostNotFound).message();

TEST_P(HostThatReadsAsASocket, is_a_host_name_in_a_url) {
  EXPECT_EQ(fetch("http://unix:8080/", asking()), kNoSuchHost);
  EXPECT_EQ(fetch("http://UNIX:8080/", asking()), kNoSuchHost);
  EXPECT_EQ(local->opened(), 0u);
}

TEST_P(HostThatReadsAsASocket, is_a_host_name_in_a_redirect) {
  EXPECT_EQ(fetch(page->url(), asking()), kNoSuchHost);
  EXPECT_EQ(local->opened(), 0u);
}

TEST_P(HostThatReadsAsASocket, is_a_host_name_of_a_proxy) {
  HttpClientOptions options = asking();
  options.proxies.http = "http://unix:8080";
  EXPECT_EQ(fetch("http://example.test/", options), kNoSuchHost);
  EXPECT_EQ(local->opened(), 0u);
}

TEST_P(HostThatReadsAsASocket, is_a_host_name_of_a_websocket) {
  WebSocketClientOptions options;
  options.client.resolver = &*resolver;
  std::string why;
  std::optional<WebSocketClient> client;
  client.emplace(loop(), WebSocketCallbacks{}, options, [&](const WebSocketFailure& failure) { why = failure.why; });
  ASSERT_TRUE(client->connect("ws://unix:8080/"));
  ASSERT_TRUE(answer_until([&] { return !why.empty(); }));
  EXPECT_EQ(why, kNoSuchHost);
  client.reset();
  EXPECT_EQ(local->opened(), 0u);
}

// A request may still ask for a unix socket, by connect_to.
TEST_P(HostThatReadsAsASocket, is_a_socket_if_the_user_says_so) {
  std::string outcome;
  std::optional<HttpClient> client;
  ask([&] {
    client.emplace(loop(), asking());
    HttpClientRequest request("http://service.test/");
    request.connect_to = "unix:8080";
    EXPECT_TRUE(client->fetch(std::move(request), [&](Result<HttpResponse> response) {
      outcome = response ? response->body : response.error().message();
    }));
  });
  ASSERT_TRUE(wait_until([&] { return !outcome.empty(); }));
  EXPECT_EQ(outcome, "local");
  EXPECT_EQ(fetch("http://unix:8080/", asking()), kNoSuchHost) << "it used the connection of the unix socket";
  ask([&] { client.reset(); });
}

PEAL_TEST_ON_EVERY_ENGINE(HostThatReadsAsASocket);

}  // namespace
}  // namespace peal
