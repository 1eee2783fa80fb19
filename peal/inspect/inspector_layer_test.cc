// SPDX-License-Identifier: BSD-3-Clause
// How the inspector shows servers over a layer, and which clients may read and act if the inspector itself uses TLS:
// with a certificate and without.
#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/http/client/http_client.h>
#include <peal/inspect/inspector.h>
#include <peal/tls/tls_client_context.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/net_rig.h>
#include <tests/support/program.h>
#include <tests/support/tls/tls_certificates.h>

namespace peal {
namespace {

using nlohmann::json;
using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A SealedLayer that reports LayerStats.
class ToldLayer final : public StreamLayer {
 public:
  std::unique_ptr<StreamPort> over(Engine& engine) const noexcept override { return sealed_.over(engine); }
  LayerStats stats() const override {
    return {.handshakes = 50,
            .resumed = 20,
            .failed = 7,
            .in_the_clear = 3,
            .under_way = 2,
            .reloads = 5,
            .reloads_failed = 1,
            .valid_until = valid_until};
  }
  std::chrono::sys_seconds valid_until = {};

 private:
  const test::SealedLayer sealed_;
};

// Used by both test classes: sends one request on a loop of its own, over TLS or plain, and returns the response.
Result<HttpResponse> fetch(HttpClientRequest request, const StreamLayer* layer = nullptr) {
  const std::unique_ptr<Loop> loop = Loop::make({.engine = "epoll"}).value();
  EXPECT_TRUE(loop->begin());
  HttpClientOptions options;
  options.layer = layer;
  std::optional<Result<HttpResponse>> answer;
  {
    HttpClient client(*loop, options);
    const auto asked =
        client.fetch(std::move(request), [&](Result<HttpResponse> it) { answer.emplace(std::move(it)); });
    EXPECT_TRUE(asked);
    const TimerId patience = loop->after(std::chrono::seconds(30), [&] { answer.emplace(fail(ETIME)); });
    while (!answer) loop->step();
    loop->cancel(patience);
  }
  loop->end();
  return std::move(*answer);
}

class InspectorLayerTest : public testing::Test {
 protected:
  // Starts a server with two loops that share the layer. The handshake with one silent peer is not complete.
  void serve(std::chrono::system_clock::duration certificate_left) {
    layer.valid_until = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + certificate_left);
    server = std::make_unique<Server>(*group, test::echoing(), ServerOptions{.connection = {.layer = &layer}});
    const SocketAddress address = server->listen("127.0.0.1:0").value();
    inspector = Inspector::attach(*server, "127.0.0.1:0", {.reply_timeout = std::chrono::minutes(1)}).value();
    peer.connect(address);
    while (server->connections() == 0) std::this_thread::yield();
  }
  std::string get(std::string_view path, const std::string& accept = "*/*") {
    return fetch(HttpClientRequest(fmt::format("http://{}{}", inspector->address().to_string(), path))
                     .add("Accept", accept))
        .value()
        .body;
  }
  json get_json(std::string_view path) { return json::parse(get(path, "application/json")); }

  const std::unique_ptr<LoopGroup> group = LoopGroup::start(2, {.engine = "epoll"}).value();
  ToldLayer layer;
  std::unique_ptr<Server> server;
  std::unique_ptr<Inspector> inspector;
  RawPeer peer;
};

TEST_F(InspectorLayerTest, figures_of_a_layer_are_told_once_however_many_loops_use_it) {
  serve(hours(24 * 90));
  const json shown = get_json("/json")["servers"][0];
  EXPECT_EQ(shown["layer_handshakes"], 50);
  EXPECT_EQ(shown["layer_resumed"], 20);
  EXPECT_EQ(shown["layer_failed"], 7);
  EXPECT_EQ(shown["layer_in_the_clear"], 3);
  EXPECT_EQ(shown["layer_under_way"], 2);
  EXPECT_EQ(shown["layer_reloads"], 5);
  EXPECT_EQ(shown["layer_reloads_failed"], 1);
  EXPECT_GT(shown["certificate_left_seconds"], 89 * 86'400);
  EXPECT_LE(shown["certificate_left_seconds"], 90 * 86'400);
  const std::string metrics = get("/metrics", "application/openmetrics-text");
  const std::string_view labels = "{server=\"0\",name=\"server 0\"}";
  EXPECT_THAT(metrics, HasSubstr(fmt::format("peal_layer_handshakes_total{} 50\n", labels)));
  EXPECT_THAT(metrics, HasSubstr(fmt::format("peal_layer_handshakes_under_way{} 2\n", labels)));
  const std::string page = get("/servers", "text/html");
  EXPECT_THAT(page,
              HasSubstr("<th scope=\"col\" data-key=\"certificate_left_seconds\" class=\"n\">certificate left</th>"));
  EXPECT_THAT(page, testing::ContainsRegex(" class=\"n\">(89 d 23|90 d 0) h</td>"));
  EXPECT_THAT(page, Not(HasSubstr("class=\"n bad\"")));
}

TEST_F(InspectorLayerTest, certificate_that_ends_soon_is_marked) {
  serve(hours(24 * 13 + 1));
  EXPECT_THAT(get("/servers", "text/html"), testing::ContainsRegex(" class=\"n bad\">13 d [01] h</td>"));
}

TEST_F(InspectorLayerTest, who_still_shakes_hands_is_connecting_and_then_told_with_what_was_agreed_on) {
  serve(hours(24));
  const json waits = get_json("/connections")["connections"];
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0]["state"], "handshaking");
  peer.send(test::kSealHello);
  const std::string sealed = test::sealed_text("hello");
  peer.send(sealed);
  while (peer.received().size() < test::kSealHello.size() + sealed.size() && readable(peer.fd())) peer.pump();
  const json open = get_json("/connections")["connections"][0];
  EXPECT_EQ(open["state"], "open");
  EXPECT_EQ(open["protocol"], "sealed");
  EXPECT_EQ(open["cipher"], "turned");
  EXPECT_EQ(open["application"], "");
  EXPECT_TRUE(open["peer_names"].is_array());
  EXPECT_EQ(open["resumed"], false);
  const std::string page = get("/connection/" + open["id"].get<std::string>(), "text/html");
  EXPECT_THAT(page, HasSubstr("<dt>cipher</dt><dd data-key=\"cipher\">turned</dd>"));
}

class InspectorOverTlsTest : public testing::Test {
 protected:
  InspectorOverTlsTest() : own_(root_.issue({.names = {"127.0.0.1"}})) {}
  ~InspectorOverTlsTest() override { set_log_level(level_); }

  void start(TlsClientAuth auth, const std::string& token = {}) {
    TlsServerOptions options{.client_auth = auth, .client_roots = {.pem = clients_.pem()}};
    options.certificates.push_back({.chain_pem = own_.chain_pem, .key_pem = own_.key_pem});
    tls_ = TlsServerContext::make(std::move(options)).value();
    inspector_ = Inspector::start("127.0.0.1:0", {.token = token, .layer = tls_.get()}).value();
  }
  std::unique_ptr<TlsClientContext> client(const std::optional<SelfSigned>& certificate) const {
    TlsClientOptions options{.roots = {.pem = root_.pem()}};
    if (certificate) options.certificate = {.chain_pem = certificate->chain_pem, .key_pem = certificate->key_pem};
    return TlsClientContext::make(std::move(options)).value();
  }
  std::string origin(std::string_view scheme = "https") const {
    return fmt::format("{}://{}", scheme, inspector_->address().to_string());
  }
  Result<HttpResponse> get(const StreamLayer& layer, std::string_view path) const {
    return fetch(HttpClientRequest(fmt::format("{}{}", origin(), path)).add("Accept", "text/html"), &layer);
  }
  HttpClientRequest action() const {
    HttpClientRequest request("POST", origin() + "/actions/log_level?level=error");
    return request.add("Peal-Action", "1");
  }
  static int status(const Result<HttpResponse>& answer) { return answer ? answer->status() : 0; }

  const LogLevel level_ = log_level();
  const test::TestAuthority root_{"root"}, clients_{"clients"};
  const SelfSigned own_;
  const SelfSigned known_ = clients_.issue({.names = {"anna.example"}, .common_name = "anna"});
  std::unique_ptr<TlsServerContext> tls_;
  std::unique_ptr<Inspector> inspector_;
};

TEST_F(InspectorOverTlsTest, where_a_certificate_is_required_who_has_one_looks_and_acts_and_nobody_else) {
  start(TlsClientAuth::kRequired, "s3cret");
  const auto anna = client(known_);
  const auto page = get(*anna, "/");
  ASSERT_EQ(status(page), 200);
  EXPECT_THAT(page->body, HasSubstr("<section id=\"loops\">"));
  EXPECT_EQ(status(fetch(action(), anna.get())), 200) << "without the token";
  EXPECT_EQ(log_level(), LogLevel::kError);
  const test::TestAuthority others("others");
  for (const auto& stranger : {client({}), client(others.issue({.names = {"anna.example"}, .common_name = "anna"}))}) {
    EXPECT_EQ(status(get(*stranger, "/")), 0);
    EXPECT_EQ(status(fetch(action().add("Authorization", "Bearer s3cret"), stranger.get())), 0);
  }
  const auto plain = fetch(HttpClientRequest(origin("http") + "/"));
  EXPECT_NE(status(plain), 200) << "in the clear";
}

TEST_F(InspectorOverTlsTest, where_a_certificate_is_wanted_the_token_does_as_well) {
  start(TlsClientAuth::kWanted, "s3cret");
  const auto nobody = client({});
  EXPECT_EQ(status(get(*nobody, "/")), 200);
  EXPECT_EQ(status(fetch(action(), nobody.get())), 401);
  EXPECT_EQ(log_level(), level_);
  EXPECT_EQ(status(fetch(action().add("Authorization", "Bearer s3cret"), nobody.get())), 200);
  EXPECT_EQ(status(fetch(action(), client(known_).get())), 200);
}

TEST_F(InspectorOverTlsTest, certificate_that_a_browser_shows_for_another_site_changes_nothing) {
  start(TlsClientAuth::kRequired);
  const auto anna = client(known_);
  EXPECT_EQ(status(fetch(action().add("Origin", "https://evil.example"), anna.get())), 403);
  EXPECT_EQ(status(fetch(action().add("Origin", origin("http")), anna.get())), 403) << "what others may write";
  EXPECT_EQ(status(fetch(action().add("Host", "evil.example"), anna.get())), 421);
  EXPECT_EQ(status(fetch(action().add("Via", "1.1 gate"), anna.get())), 403) << "the proxy's certificate";
  EXPECT_EQ(status(fetch(HttpClientRequest("POST", origin() + "/actions/log_level?level=error"), anna.get())), 403);
  EXPECT_EQ(log_level(), level_);
  const auto own = fetch(action().add("Origin", origin()), anna.get());
  ASSERT_EQ(status(own), 200);
  EXPECT_FALSE(own->find("Access-Control-Allow-Origin").has_value());
}

// The name of an XML namespace in a page is not an address that the page loads.
TEST_F(InspectorOverTlsTest, page_asks_for_nothing_in_the_clear) {
  start(TlsClientAuth::kOff);
  const auto nobody = client({});
  for (const char* path : {"/", "/page/inspector.js", "/page/inspector.css"}) {
    const auto answer = get(*nobody, path);
    ASSERT_EQ(status(answer), 200) << path;
    std::string text = answer->body;
    constexpr std::string_view kNamespace = "http://www.w3.org/2000/svg";
    if (const size_t at = text.find(kNamespace); at != text.npos) text.erase(at, kNamespace.size());
    EXPECT_THAT(text, Not(HasSubstr("http:"))) << path;
  }
}

TEST_F(InspectorOverTlsTest, connection_is_shown_with_who_its_certificate_says_it_is) {
  start(TlsClientAuth::kRequired);
  test::LoopThread thread{{.engine = "epoll"}};
  Server site(thread.loop(), test::echoing(), {.connection = {.layer = tls_.get()}});
  const SocketAddress address = site.listen("127.0.0.1:0").value();
  inspector_->add(site, "site");
  const auto anna = client(known_);
  test::Journal journal;
  std::optional<Client> peer;
  test::ask(thread.loop(), [&] {
    ConnectionCallbacks callbacks = journal.callbacks();
    callbacks.on_open = [](Connection& connection) { connection.send("hello"); };
    peer.emplace(thread.loop(), std::move(callbacks), ClientOptions{.connection = {.layer = anna.get()}});
    EXPECT_TRUE(peer->connect(address.to_string()));
  });
  ASSERT_TRUE(test::wait_until(thread.loop(), [&] { return journal.count("message 5") == 1; }));
  const auto asks = client(known_);
  const json all = json::parse(fetch(HttpClientRequest(origin() + "/json"), asks.get())->body);
  EXPECT_EQ(all["servers"][0]["layer_handshakes"], 2) << "with all who use it: that of who asks, too";
  EXPECT_EQ(all["servers"][0]["layer_under_way"], 0);
  EXPECT_GT(all["servers"][0]["certificate_left_seconds"], 22 * 3600);
  EXPECT_LE(all["servers"][0]["certificate_left_seconds"], 24 * 3600);
  const json& shown = all["connections"][0];
  EXPECT_EQ(shown["state"], "open");
  EXPECT_EQ(shown["protocol"], "TLSv1.3");
  EXPECT_EQ(shown["peer_subject"], "CN=anna");
  EXPECT_THAT(shown["peer_names"], ElementsAre("DNS:anna.example"));
  test::ask(thread.loop(), [&] { peer.reset(); });
  ASSERT_TRUE(test::wait_until(thread.loop(), [&] { return site.connections() == 0; }));
  const RawPeer silent = RawPeer::connected(address);
  ASSERT_TRUE(test::wait_until(thread.loop(), [&] { return site.connections() == 1; }));
  const json waits = json::parse(fetch(HttpClientRequest(origin() + "/json"), asks.get())->body);
  EXPECT_EQ(waits["servers"][0]["layer_under_way"], 1);
  EXPECT_EQ(waits["connections"][0]["state"], "handshaking");
  EXPECT_FALSE(waits["connections"][0].contains("cipher"));
  inspector_->remove(site);
}

}  // namespace
}  // namespace peal
