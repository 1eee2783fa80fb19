// SPDX-License-Identifier: BSD-3-Clause
// Tests `peal load` with TLS servers in this process: what it reports about handshakes, and which servers it trusts.
#include <cli/load/load_tls.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <peal/base/log.h>
#include <peal/http/server/http_server.h>
#include <peal/net/server.h>
#include <peal/tls/self_signed.h>
#include <peal/tls/tls_server_context.h>
#include <tests/support/files/temporary_folder.h>
#include <tests/support/load_call.h>
#include <tests/support/loop_thread.h>

namespace peal::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

Router hello() {
  Router router;
  router.get("/", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "hello"); });
  return router;
}

class LoadTls : public testing::Test {
 protected:
  LoadTls() {
    set_log_level(LogLevel::kWarn);  // hides the servers' log lines about handshakes from the output
    const SelfSigned made = make_self_signed({.names = {"localhost", "127.0.0.1"}}).value();
    std::ofstream(folder.path("site.pem")) << made.chain_pem;
    std::ofstream(folder.path("site.key")) << made.key_pem;
  }

  ~LoadTls() override { set_log_level(before_); }

  std::unique_ptr<TlsServerContext> context(TlsServerOptions options = {}) const {
    options.certificates = {{.chain_file = folder.path("site.pem"), .key_file = folder.path("site.key")}};
    return TlsServerContext::make(std::move(options)).value();
  }
  // Starts an echo server whose connections use `layer`. Returns the server's address.
  std::string echo(const StreamLayer* layer) {
    server_.emplace(thread_.loop(),
                    ConnectionCallbacks{
                        .on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }},
                    ServerOptions{.connection = {.layer = layer}});
    return server_->listen("127.0.0.1:0").value().to_string();
  }
  Answer load(std::vector<std::string> words) {
    words.insert(words.end(), {"--connections", "3", "--duration", "400ms", "--warmup", "10ms", "--engine", "epoll",
                               "--json", folder.path("json")});
    return call_load(std::move(words));
  }
  nlohmann::json report() const { return nlohmann::json::parse(folder.read("json")); }
  std::string roots() const { return folder.path("site.pem"); }

  const test::TemporaryFolder folder;

 private:
  const LogLevel before_ = log_level();
  test::LoopThread thread_{LoopOptions{.engine = "epoll"}};
  std::optional<Server> server_;
};

TEST_F(LoadTls, handshakes_are_counted_and_timed) {
  const auto tls = context();
  const std::string address = echo(tls.get());
  const Answer answer = load({"pingpong", address, "--tls", "--tls-ca", roots()});
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.exit_code, kDone) << answer.out;
  EXPECT_THAT(answer.out, HasSubstr(", TLS, full handshakes, closed loop"));
  EXPECT_THAT(answer.out, HasSubstr("\nhandshakes  3 done: 3 full, 0 resumed; 0 failed; TLSv1.3, TLS_"));
  EXPECT_THAT(answer.out, HasSubstr("\nhandshake  "));
  const nlohmann::json json = report();
  EXPECT_EQ(json["handshake_ns"]["count"], 3);
  EXPECT_EQ(json["connect_ns"]["count"], 3);
  EXPECT_EQ(json["layer"], "TLS, full handshakes");
  EXPECT_GE(json["lifetime"]["messages"].get<uint64_t>(), 3U);
  EXPECT_EQ(tls->stats().handshakes, 3U);
}

TEST_F(LoadTls, a_handshake_for_each_request_full_or_resumed) {
  const auto tls = context();
  const std::string address = echo(tls.get());
  for (const bool resumes : {false, true}) {
    SCOPED_TRACE(resumes);
    std::vector<std::string> words{"pingpong", address, "--tls", "--tls-ca", roots(), "--handshakes"};
    if (resumes) words.emplace_back("--tls-resume");
    const uint64_t resumed_before = tls->stats().resumed;
    const Answer answer = load(words);
    EXPECT_EQ(answer.error, "");
    const nlohmann::json json = report();
    const nlohmann::json& handshakes = json["handshakes"];
    EXPECT_EQ(json["errors"], nlohmann::json::object()) << answer.out;
    EXPECT_EQ(json["requests_per_connection"]["most"], 1);
    EXPECT_EQ(handshakes["done"], json["lifetime"]["connects"]);
    EXPECT_GT(handshakes["done"].get<uint64_t>(), 3U);
    EXPECT_EQ(handshakes["done"], handshakes["full"].get<uint64_t>() + handshakes["resumed"].get<uint64_t>());
    const uint64_t resumed = handshakes["resumed"];
    EXPECT_EQ(resumed > 0, resumes);
    EXPECT_GE(tls->stats().resumed - resumed_before, resumed) << "the server has counted at least as many";
  }
}

TEST_F(LoadTls, http_agrees_on_http) {
  test::LoopThread thread(LoopOptions{.engine = "epoll"});
  const auto tls = context({.applications = {"http/1.1"}});
  HttpServer server(thread.loop(), hello(), {.layer = tls.get()});
  const std::string authority = server.listen("127.0.0.1:0").value().to_string();
  for (const std::string& url :
       {"https://" + authority + "/", "https://localhost" + authority.substr(authority.rfind(':')) + "/"}) {
    const Answer answer = load({"http", url, "--tls-ca", roots(), "--expect-body", "hello"});
    EXPECT_EQ(answer.error, "");
    EXPECT_EQ(answer.exit_code, kDone) << answer.out;
  }
  const Answer plain = load({"http", "http://" + authority + "/"});
  EXPECT_EQ(plain.exit_code, kFailed) << plain.out;
}

TEST_F(LoadTls, a_server_that_is_not_trusted_is_reported_with_the_reason) {
  const auto tls = context();
  const std::string address = echo(tls.get());
  const std::string cannot = "peal: cannot connect to " + address + ": the handshake failed: ";
  Answer answer = load({"pingpong", address, "--tls"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error, cannot + "the peer's certificate is not accepted: self-signed certificate\n");
  answer = load({"pingpong", address, "--tls", "--tls-ca", roots(), "--tls-name", "example.org"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, HasSubstr(cannot + "the peer's certificate is not accepted: hostname mismatch"));
  answer = load({"pingpong", address, "--tls", "--tls-ca", roots(), "--tls-name", "localhost"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  answer = load({"pingpong", address, "--tls", "--tls-insecure", "--tls-name", "example.org"});
  EXPECT_EQ(answer.exit_code, kDone) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr(", TLS without verification, full handshakes, "));
}

TEST_F(LoadTls, a_server_that_does_not_speak_tls) {
  test::LoopThread thread(LoopOptions{.engine = "epoll"});
  Server server(thread.loop(), {.on_open = [](Connection& connection) { connection.send("220 who are you?\r\n"); }});
  const std::string address = server.listen("127.0.0.1:0").value().to_string();
  const Answer answer = load({"pingpong", address, "--tls", "--tls-insecure"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_THAT(answer.error, EndsWith(": the handshake failed: the peer does not speak TLS\n"));
}

TEST_F(LoadTls, a_server_that_asks_for_a_certificate) {
  const auto tls = context({.client_auth = TlsClientAuth::kRequired, .client_roots = {.file = roots()}});
  const std::string address = echo(tls.get());
  std::vector<std::string> words{"pingpong", address, "--tls", "--tls-ca", roots()};
  Answer answer = load(words);
  // The server requires a certificate, but the client sends none. In TLS 1.3, the client's handshake is complete before
  // the server checks the certificate (RFC 8446 4.4.2.4). The open connection then breaks with an alert.
  EXPECT_NE(answer.exit_code, kDone) << answer.out;
  EXPECT_THAT(answer.out, testing::ContainsRegex("a connection broke: the peer's alert: [a-z ]+ \\(116\\)"));
  words.insert(words.end(), {"--tls-cert", roots(), "--tls-key", folder.path("site.key")});
  answer = load(words);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.exit_code, kDone) << answer.out;
}

TEST_F(LoadTls, duel_of_a_server_with_tls_and_one_without) {
  test::LoopThread thread(LoopOptions{.engine = "epoll"});
  const auto tls = context();
  HttpServer over_tls(thread.loop(), hello(), {.layer = tls.get()});
  HttpServer in_the_clear(thread.loop(), hello());
  const Answer answer =
      call_load({"duel", "http", "a=https://" + over_tls.listen("127.0.0.1:0").value().to_string() + "/",
                 "b=http://" + in_the_clear.listen("127.0.0.1:0").value().to_string() + "/", "--tls-ca", roots(),
                 "--handshakes", "--slice", "5ms", "--rounds", "2", "--restarts", "1", "--budget", "10s", "--engine",
                 "epoll", "--json", folder.path("json")});
  EXPECT_EQ(answer.error, "");
  EXPECT_THAT(answer.out, HasSubstr("\na: TLS, full handshakes; TLSv1.3, TLS_"));
  EXPECT_THAT(answer.out, HasSubstr(" full and 0 resumed handshakes, p50 "));
  EXPECT_THAT(answer.out, Not(HasSubstr("\nb: ")));
  const nlohmann::json contenders = report()["contenders"];
  EXPECT_EQ(contenders[0]["layer"], "TLS, full handshakes");
  EXPECT_GT(contenders[0]["handshakes"]["done"], 0);
  EXPECT_EQ(contenders[0]["handshakes"]["resumed"], 0);
  EXPECT_EQ(contenders[0]["handshake"]["count"], contenders[0]["handshakes"]["done"]);
  EXPECT_FALSE(contenders[1].contains("layer"));
  EXPECT_FALSE(contenders[1].contains("handshakes"));
  EXPECT_GT(contenders[2]["handshakes"]["done"], 0) << "the twin has handshakes of its own";
}

TEST_F(LoadTls, duel_with_a_server_that_is_not_trusted) {
  const auto tls = context();
  const Answer answer = call_load({"duel", "a=" + echo(tls.get()), "--tls", "--slice", "5ms", "--rounds", "1",
                                   "--restarts", "1", "--engine", "epoll"});
  EXPECT_EQ(answer.exit_code, kFailed);
  EXPECT_EQ(answer.error,
            "peal: a: not every connection could be opened: the handshake failed: the peer's certificate "
            "is not accepted: self-signed certificate\n");
}

}  // namespace
}  // namespace peal::cli
