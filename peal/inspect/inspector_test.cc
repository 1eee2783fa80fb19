// SPDX-License-Identifier: BSD-3-Clause
// The page, the JSON, the metrics and the actions over real connections. tests/outside/inspector_test.py opens the page
// in a browser.
#include <peal/inspect/inspector.h>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <latch>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <peal/base/fd.h>
#include <peal/base/log.h>
#include <peal/engine/listening_socket.h>
#include <peal/http/server/http_server.h>
#include <peal/observe/stall_watchdog.h>
#include <tests/support/http/inspector_rig.h>
#include <tests/support/http_rig.h>

namespace peal {
namespace {

using nlohmann::json;
using test::http_answer;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using InspectorTest = test::InspectorRig;

TEST_F(InspectorTest, one_line_shows_loops_servers_and_connections) {
  serve();
  attach();
  const json all = get_json("/json");
  ASSERT_EQ(all["loops"].size(), 1u);
  EXPECT_EQ(all["loops"][0]["state"], "answers");
  EXPECT_EQ(all["loops"][0]["engine"], "epoll");
  EXPECT_GT(all["loops"][0]["turns"], 0);
  EXPECT_EQ(all["servers"][0]["connections"], 1);
  EXPECT_EQ(all["servers"][0]["opened"], 1);
  const json& connection = all["connections"][0];
  EXPECT_EQ(connection["state"], "open");
  EXPECT_EQ(connection["received_bytes"], 5);
  EXPECT_THAT(connection["peer"].get<std::string>(), StartsWith("127.0.0.1:"));
  EXPECT_GT(connection["segment_bytes"], 0);
  EXPECT_EQ(all["process"]["pid"], ::getpid());
  EXPECT_FALSE(all["build"]["compiler"].get<std::string>().empty());
  EXPECT_GT(all["system"]["processors"], 0);
}

TEST_F(InspectorTest, browser_gets_a_page_and_a_terminal_gets_text) {
  serve();
  attach();
  const std::string html = get("/", "Accept: text/html,*/*\r\n");
  EXPECT_THAT(html, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(html, HasSubstr("Content-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(html, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self'"));
  EXPECT_THAT(html, HasSubstr("<section id=\"servers\">"));
  EXPECT_THAT(html, HasSubstr("data-json=\"/?format=json\""));
  EXPECT_THAT(html, Not(HasSubstr("{{")));
  EXPECT_THAT(get("/"), HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(get("/"), HasSubstr("\nserver  name      state  connections"));
  const std::string loops = get("/loops", "Accept: text/html\r\n");
  EXPECT_THAT(loops, HasSubstr("<section id=\"loops\">"));
  EXPECT_THAT(loops, Not(HasSubstr("<section id=\"servers\">")));
  EXPECT_THAT(loops, HasSubstr("data-json=\"/loops?format=json\""));
  EXPECT_TRUE(json::accept(body(get("/loops?format=json", "Accept: text/html\r\n"))));
  for (const char* path : {"/page/inspector.css", "/page/inspector.js"})
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 200 ")) << path;
  EXPECT_THAT(get("/nothing"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(InspectorTest, metrics_in_both_formats) {
  serve();
  attach();
  const std::string open = get("/metrics", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
  EXPECT_THAT(open, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
  EXPECT_THAT(open, HasSubstr("\npeal_server_connections{server=\"0\",name=\"server 0\"} 1\n"));
  EXPECT_THAT(open, EndsWith("\n# EOF\n"));
  const std::string old = get("/metrics");
  EXPECT_THAT(old, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(old, Not(HasSubstr("# EOF")));
}

TEST_F(InspectorTest, familiar_paths_are_text) {
  inspector = Inspector::start("127.0.0.1:0").value();
  EXPECT_EQ(body(get("/proc/pid")), fmt::format("{}\n", ::getpid()));
  EXPECT_THAT(body(get("/proc/status")), HasSubstr("\nThreads:"));
  EXPECT_THAT(body(get("/proc/threads")), HasSubstr("peal-inspect-0"));
  EXPECT_THAT(body(get("/proc/opened_files")), HasSubstr("socket:["));
  EXPECT_THAT(body(get("/proc/overview")), HasSubstr("bytes resident"));
  EXPECT_THAT(body(get("/sys/overview")), HasSubstr("processors, load"));
  for (const char* path :
       {"/proc/limits", "/sys/loadavg", "/sys/version", "/sys/cpuinfo", "/sys/meminfo", "/sys/stat"}) {
    EXPECT_THAT(get(path), StartsWith("HTTP/1.1 200 ")) << path;
    EXPECT_GT(body(get(path)).size(), 10u) << path;
  }
}

TEST_F(InspectorTest, connection_is_shown_with_its_flight_and_killed) {
  test::ask(thread.loop(), [&] { thread.loop().enable_flight_recorder(256); });
  serve();
  attach();
  const std::string id = connection_id();
  const json detail = get_json("/connection/" + id);
  EXPECT_EQ(detail["connection"]["id"], id);
  EXPECT_TRUE(detail["recorded"]);
  EXPECT_EQ(detail["flight"][0]["event"], "opened");
  EXPECT_EQ(detail["flight"][1]["event"], "received");
  EXPECT_EQ(detail["flight"][1]["bytes"], 5);
  EXPECT_THAT(post("/actions/end?how=abort&connection=" + id), StartsWith("HTTP/1.1 200 "));
  test::read_to_end(peer);
  EXPECT_EQ(peer.error(), ECONNRESET);
  EXPECT_THAT(post("/actions/end?how=abort&connection=" + id), StartsWith("HTTP/1.1 404 "));
  const json after = get_json("/connection/" + id);
  EXPECT_TRUE(after["connection"].is_null());
  EXPECT_EQ(after["flight"].back()["event"], "closed");
  EXPECT_EQ(after["flight"][after["flight"].size() - 2]["event"], "closing");
  EXPECT_EQ(after["flight"][after["flight"].size() - 2]["reason"], to_string(CloseReason::kAborted));
  EXPECT_THAT(get("/connection/x"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/connection/7.0.0.1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("/connection/0.7.0.1"), StartsWith("HTTP/1.1 404 "));
}

TEST_F(InspectorTest, connection_and_server_are_drained) {
  serve();
  attach();
  EXPECT_THAT(post("/actions/end?how=drain&connection=" + connection_id()), StartsWith("HTTP/1.1 200 "));
  test::read_to_end(peer);
  EXPECT_TRUE(peer.ended());
  EXPECT_EQ(peer.error(), 0);
  peer.fin();
  EXPECT_EQ(get_json("/server/0")["server"]["state"], "open");
  EXPECT_THAT(post("/actions/drain?server=0"), StartsWith("HTTP/1.1 202 "));
  EXPECT_EQ(get_json("/server/0")["server"]["state"], "draining");
  EXPECT_THAT(post("/actions/drain?server=1"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(post("/actions/drain?server=0x"), StartsWith("HTTP/1.1 404 "));
  // The action has requested a drain already. This second drain waits until both drains are done.
  server->drain_and_wait(std::chrono::seconds(30));
  EXPECT_EQ(server->connections(), 0u);
}

// A process that serves on a socket inherited from its parent, and reports the address of its inspector.
class Heir {
 public:
  Heir(int listening, bool with_hook) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    heard_ = Fd(ends[0]);
    const Fd say(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_log_level(LogLevel::kOff);
    const auto tell = [&say](const std::string& line) { return ::write(say.get(), line.data(), line.size()); };
    auto loop = Loop::make({.engine = "epoll"}).value();
    Server server(*loop, test::echoing());
    server.listen(Fd(::dup(listening))).value();
    InspectorOptions options{.reply_timeout = std::chrono::minutes(1)};
    if (with_hook) options.on_drain = [&](Server& which) { tell(&which == &server ? "hook\n" : "other\n"); };
    const auto inspector = Inspector::attach(server, "127.0.0.1:0", options).value();
    tell(inspector->address().to_string() + "\n");
    ::_exit(loop->run() ? 0 : 1);
  }
  ~Heir() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Heir(const Heir&) = delete;
  Heir& operator=(const Heir&) = delete;

  std::string line() {
    std::string line;
    for (char c = 0; readable(heard_.get()) && ::read(heard_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  Fd heard_;
};

TEST(InspectorOfAWorker, drains_as_the_program_has_it_or_says_that_its_parent_would_go_on_listening) {
  for (const bool with_hook : {true, false}) {
    const Fd listening = open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), {}).value();
    Heir heir(listening.get(), with_hook);
    const SocketAddress page = SocketAddress::parse(heir.line()).value();
    const std::string action = "Peal-Action: 1\r\nContent-Length: 0\r\n";
    const std::string answer = http_answer(page, "POST /actions/drain?server=0", action);
    if (with_hook) {
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 202 "));
      EXPECT_EQ(heir.line(), "hook");
    } else {
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 409 "));
      EXPECT_THAT(answer, HasSubstr(fmt::format("process {} holds open", ::getpid())));
      EXPECT_THAT(answer, HasSubstr(fmt::format("send SIGTERM to this process, {}, instead", heir.pid())));
    }
    RawPeer client = RawPeer::connected(listening_address(listening.get()).value());
    client.send("hello");
    while (client.received() != "hello" && readable(client.fd()) && client.pump()) {
    }
    EXPECT_EQ(client.received(), "hello") << "it still serves";
  }
}

TEST_F(InspectorTest, log_level_is_changed) {
  inspector = Inspector::start("127.0.0.1:0").value();
  EXPECT_THAT(post("/actions/log_level?level=error"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(log_level(), LogLevel::kError);
  EXPECT_EQ(get_json("/json")["log"]["level"], "error");
  EXPECT_THAT(post("/actions/log_level?level=loud"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(log_level(), LogLevel::kError);
}

TEST_F(InspectorTest, actions_are_refused_to_other_sites_and_by_get) {
  inspector = Inspector::start("127.0.0.1:0").value();
  const std::string path = "/actions/log_level?level=off";
  EXPECT_THAT(post(path, {}), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(post(path, "Peal-Action: 1\r\nOrigin: https://evil.example\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(get(path, "Peal-Action: 1\r\n"), StartsWith("HTTP/1.1 405 "));
  RawPeer rebound = RawPeer::connected(inspector->address());
  rebound.send("GET /json HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
  test::read_to_end(rebound);
  EXPECT_THAT(rebound.received(), StartsWith("HTTP/1.1 421 "));
  EXPECT_EQ(log_level(), level_);
}

TEST_F(InspectorTest, token_is_asked_for_when_one_is_set) {
  inspector = Inspector::start("127.0.0.1:0", {.token = "s3cret"}).value();
  const std::string path = "/actions/log_level?level=error";
  EXPECT_THAT(post(path), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(post(path), HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_EQ(log_level(), level_);
  EXPECT_THAT(post(path, "Peal-Action: 1\r\nAuthorization: Bearer s3cret\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(log_level(), LogLevel::kError);
}

TEST_F(InspectorTest, stalled_loop_is_shown_with_the_stack_of_what_holds_it) {
  bool found = false;
  // The watchdog looks only when the test asks, because a busy machine delays the loop at other times as well.
  auto watchdog = StallWatchdog::start({.threshold = std::chrono::milliseconds(20), .own_thread = false},
                                       [&](const Stall&) { found = true; });
  ASSERT_TRUE(watchdog);
  (*watchdog)->watch(thread.loop());
  serve();
  attach({.reply_timeout = std::chrono::milliseconds(20)});
  inspector->add(**watchdog);
  (*watchdog)->look();
  test::ask(thread.loop(), [] {});
  std::latch begun(1);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd gate(ends[0]);
  Fd shut(ends[1]);
  thread.loop().post([&] {
    begun.count_down();
    char byte = 0;  // a system call, so that a signal is delivered under every sanitizer
    while (::read(gate.get(), &byte, 1) < 0 && errno == EINTR) {
    }
  });
  begun.wait();
  (*watchdog)->look();
  const json all = get_json("/json");
  EXPECT_EQ(all["loops"][0]["state"], "STALLED");
  EXPECT_GE(all["loops"][0]["silent_seconds"], 0.02);
  EXPECT_FALSE(all["servers"][0]["complete"]);
  EXPECT_THAT(get("/connection/0.0.0.1"), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(get("/", "Accept: text/html\r\n"), HasSubstr(">STALLED</td>"));
  while (!found) (*watchdog)->look();
  shut.reset();
  const json stalls = get_json("/stalls")["stalls"];
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0]["what"], "a task");
  EXPECT_FALSE(stalls[0]["stack"].get<std::string>().empty());
  inspector->remove(**watchdog);
}

TEST_F(InspectorTest, http_server_shows_its_requests) {
  Router router;
  router.get("/hello", [](HttpExchange& exchange) { exchange.respond(200, "text/plain", "hello"); });
  HttpServer http(thread.loop(), std::move(router));
  const SocketAddress address = http.listen("127.0.0.1:0").value();
  inspector = Inspector::attach(http, "127.0.0.1:0", {.reply_timeout = std::chrono::minutes(1)}).value();
  EXPECT_THAT(http_answer(address, "GET /hello"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(http_answer(address, "GET /nothing"), StartsWith("HTTP/1.1 404 "));
  const json shown = get_json("/servers")["servers"][0];
  EXPECT_EQ(shown["requests"], 2);
  EXPECT_EQ(shown["answers_2xx"], 1);
  EXPECT_EQ(shown["unrouted"], 1);
  inspector.reset();
}

TEST_F(InspectorTest, on_a_loop_of_the_program_and_in_pieces) {
  auto group = LoopGroup::start(2, {.engine = "epoll"}).value();
  Inspector own(thread.loop(), {.measure_turns = false});
  own.add(*group);
  own.add(thread.loop());
  Server one((*group)[0], test::echoing());
  own.add(one, "one");
  const SocketAddress address = own.listen("127.0.0.1:0").value();
  const json all = json::parse(body(http_answer(address, "GET /json")));
  EXPECT_EQ(all["loops"].size(), 3u);
  EXPECT_FALSE(all["loops"][0].contains("busy_share"));
  EXPECT_EQ(all["servers"][0]["name"], "one");
  own.remove(one);
  EXPECT_EQ(json::parse(body(http_answer(address, "GET /json")))["servers"].size(), 0u);
}

TEST_F(InspectorTest, address_that_is_taken_is_an_error) {
  serve();
  attach();
  const auto second = Inspector::attach(*server, inspector->address().to_string());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error(), std::errc::address_in_use);
}

TEST_F(InspectorTest, answers_on_their_way_may_outlive_it) {
  serve();
  attach({.reply_timeout = std::chrono::milliseconds(20)});
  std::latch begun(1);
  std::latch gate(1);
  thread.loop().post([&] {
    begun.count_down();
    gate.wait();
  });
  begun.wait();
  RawPeer late = RawPeer::connected(inspector->address());
  late.send("GET /json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  inspector.reset();
  gate.count_down();
  thread.finish();
}

}  // namespace
}  // namespace peal
