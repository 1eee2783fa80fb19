// SPDX-License-Identifier: BSD-3-Clause
// A program that was written for peal 0.1.0: it uses the parts of the API that most programs use. It must compile with
// each later version until 0.2. So nobody changes it, unless CHANGELOG.md says what users have to change
// (docs/stability.md, "How a change is announced").
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include <peal/base/log.h>
#include <peal/coro/co_server.h>
#include <peal/coro/connect.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket_client.h>
#include <peal/http/websocket/websocket_endpoint.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/loop_group.h>
#include <peal/net/client.h>
#include <peal/net/messages.h>
#include <peal/net/server.h>
#include <peal/observe/stall_watchdog.h>
#include <peal/process/run_process.h>
#include <peal/sim/sim_loop.h>
#include <peal/sync/async_queue.h>
#include <peal/wire/framing/delimiter_framing.h>

namespace {

using namespace std::chrono_literals;

int failures = 0;

void expect(bool holds, std::string_view what) {
  if (holds) return;
  ++failures;
  PEAL_LOG_ERROR("{} failed", what);
}

// Callbacks: a server and a client of lines, with limits, deadlines, timers and a drain.
void use_callbacks(peal::SimLoop& loop, peal::SimWorld& world) {
  constexpr peal::LineFraming kLines{.limit_bytes = 1024};
  const peal::SocketAddress address = peal::SocketAddress::parse("10.0.0.1:7").value();
  peal::ServerOptions options;
  options.connection.idle_timeout = 60s;
  options.connection.write_window = 30s;
  options.max_connections = 100;
  peal::Server server(
      *loop,
      {.on_open = [](peal::Connection& connection) { connection.send("ready\n"); },
       .on_message = peal::messages(
           kLines, [](peal::Connection& connection, std::string_view line) { connection.send(peal::Buffer(line)); }),
       .on_close = [](peal::Connection&, peal::CloseReason reason) { PEAL_LOG_DEBUG("{}", peal::to_string(reason)); }},
      options);
  expect(server.listen(address).has_value(), "listen");
  std::string answer;
  peal::ConnectionCallbacks asking;
  asking.on_open = [](peal::Connection& connection) { connection.send("line\n"); };
  asking.on_message = [&](peal::Connection& connection, peal::Buffer& input) {
    answer += input.view();
    input.consume(input.size());
    if (answer.ends_with("line")) connection.close();
  };
  peal::Client client(*loop, std::move(asking));
  client.connect(address);
  int ticks = 0;
  const peal::TimerId timer = loop->every(100ms, [&] { ++ticks; });
  world.run_for(1s);
  expect(loop->cancel(timer) && ticks >= 9, "timers");
  expect(answer == "ready\nline", "callbacks");
  expect(server.connections() == 0 && server.stats().opened == 1, "stats");
}

peal::Task<> echo(peal::Stream stream) {
  for (;;) {
    auto input = co_await stream.read();
    if (!input || input->empty()) co_return;
    if (!co_await stream.write(std::move(*input))) co_return;
  }
}

peal::Task<> count(peal::AsyncQueue<int>& queue, int& sum) {
  while (auto next = co_await queue.pop()) sum += *next;
}

peal::Task<> use_coroutines(peal::Loop& loop) {
  peal::CoServer server(loop, echo);
  const auto bound = server.listen("127.0.0.1:0");
  expect(bound.has_value(), "listen of a CoServer");
  auto stream = co_await peal::connect(bound->to_string());
  expect(stream.has_value(), "connect");
  expect((co_await stream->write(peal::Buffer("echo"))).has_value(), "write");
  auto answer = co_await stream->read();
  expect(answer && answer->view() == "echo", "read");
  stream->close();
  peal::AsyncQueue<int> queue(2);
  int sum = 0;
  peal::Scope scope(loop);
  scope.spawn(count(queue, sum));
  for (int i = 1; i <= 4; ++i) co_await queue.push(i);
  queue.close();
  co_await scope.join();
  expect(sum == 10, "a queue and a scope");
  co_await peal::sleep(1ms);
  const auto ran = co_await peal::run_process({"echo", "said"});
  expect(ran && ran->output == "said\n", "run_process");
}

peal::Router routes() {
  peal::Router router;
  router.get("/hello/{name}", [](peal::HttpExchange& exchange) {
    exchange.set_field("Cache-Control", "no-store");
    exchange.respond(200, "text/plain", exchange.parameter("name"));
  });
  router.post("/slow", [](peal::HttpExchange& exchange) -> peal::Task<> {
    auto body = co_await exchange.read();
    co_await peal::sleep(1ms);
    exchange.respond(201, "text/plain", body ? body->view() : std::string_view("nothing"));
  });
  peal::WebSocketCallbacks callbacks;
  callbacks.on_message = [](peal::WebSocket& socket, peal::WebSocketKind kind, std::string_view message) {
    socket.send(kind, message);
  };
  router.get("/socket", peal::WebSocketEndpoint(std::move(callbacks), {.protocols = {"echo"}}));
  return router;
}

peal::Task<> use_http(peal::Loop& loop, std::string origin) {
  peal::HttpClient client(loop);
  const auto hello = co_await client.fetch(peal::HttpClientRequest("http://" + origin + "/hello/you"));
  expect(hello && hello->status() == 200 && hello->body == "you", "GET");
  expect(hello && hello->find("Cache-Control") == "no-store", "a field");
  peal::HttpClientRequest request("http://" + origin + "/slow");
  request.method = "POST";
  request.body = "words";
  const auto slow = co_await client.fetch(std::move(request));
  expect(slow && slow->status() == 201 && slow->body == "words", "POST");
}

void use_websocket(peal::Loop& loop, const std::string& origin, std::string& heard) {
  peal::WebSocketCallbacks callbacks;
  callbacks.on_open = [](peal::WebSocket& socket) { socket.send(peal::WebSocketKind::kText, "over a socket"); };
  callbacks.on_message = [&](peal::WebSocket& socket, peal::WebSocketKind, std::string_view message) {
    heard = message;
    socket.close(1000);
  };
  callbacks.on_close = [&](peal::WebSocket&, uint16_t, std::string_view) { loop.stop(); };
  peal::WebSocketClient client(loop, std::move(callbacks), {.protocols = {"echo"}},
                               [&](const peal::WebSocketFailure&) { loop.stop(); });
  expect(client.connect("ws://" + origin + "/socket").has_value(), "connect of a WebSocket");
  expect(loop.run().has_value(), "run");
}

}  // namespace

int main() {
  peal::set_log_level(peal::LogLevel::kWarn);
  {
    peal::SimWorld world(1);
    peal::SimLoop loop(world);
    use_callbacks(loop, world);
  }
  auto group = peal::LoopGroup::start(2, {.engine = "auto"}, "worker").value();
  peal::HttpServer server(*group, routes());
  const std::string origin = server.listen("127.0.0.1:0").value().to_string();
  auto inspector = peal::Inspector::attach(server, "127.0.0.1:0", {.name = "api"}).value();
  auto watchdog = peal::StallWatchdog::start().value();
  inspector->add(*group);
  inspector->add(*watchdog);
  {
    peal::Loop loop;
    peal::Scope scope(loop);
    scope.spawn([](peal::Loop& mine, std::string where) -> peal::Task<> {
      co_await use_coroutines(mine);
      co_await use_http(mine, std::move(where));
      mine.stop();
    }(loop, origin));
    expect(loop.run().has_value(), "run");
  }
  std::string heard;
  {
    peal::Loop loop;
    use_websocket(loop, origin, heard);
  }
  expect(heard == "over a socket", "a WebSocket");
  const peal::DrainReport report = server.drain_and_wait(5s);
  expect(report.forced == 0, "a drain");
  inspector->remove(*watchdog);
  return failures == 0 ? 0 : 1;
}
