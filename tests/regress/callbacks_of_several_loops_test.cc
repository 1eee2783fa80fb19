// SPDX-License-Identifier: BSD-3-Clause
// A server on several loops has one set of callbacks, and several threads call them at once. A `mutable` lambda that
// counted in its own capture compiled as such a callback and was a data race. Now it does not compile there, but it
// still does for a server on one loop. A router's handlers and the callbacks of WebSockets do not know how many loops
// will call them, so they never take a `mutable` lambda. This file compiles only while these rules hold.
// tests/outside/compile_errors_test.py checks what compilers say when a rule is broken.
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

// The next four structs stand for `mutable` lambdas: each changes its own member when it is called.
struct Counts {
  int count = 0;
  void operator()(Connection&) { ++count; }
};
struct Serves {
  int count = 0;
  Task<> operator()(Stream) {
    ++count;
    co_return;
  }
};
struct Greets {
  int count = 0;
  void operator()(WebSocket&) { ++count; }
};
struct Draws {
  int count = 0;
  void operator()(HttpExchange&, int) { ++count; }
};
constexpr auto kTells = [](Connection&) {};

static_assert(decltype(ConnectionCallbacks::on_open)::kAccepts<Counts>);
static_assert(!decltype(SharedConnectionCallbacks::on_open)::kAccepts<Counts>);
static_assert(decltype(SharedConnectionCallbacks::on_open)::kAccepts<decltype(kTells)>);
static_assert(CoServer::Serve::kAccepts<Serves> && !CoServer::SharedServe::kAccepts<Serves>);
static_assert(!decltype(WebSocketCallbacks::on_open)::kAccepts<Greets>);
static_assert(!SharedCallback<void(HttpExchange&, int)>::kAccepts<Draws>);
// Callbacks for several loops also serve one loop, but not the other way round.
static_assert(std::is_constructible_v<Server, Loop&, SharedConnectionCallbacks>);
static_assert(std::is_constructible_v<Server, LoopGroup&, SharedConnectionCallbacks>);
static_assert(std::is_constructible_v<Client, Loop&, SharedConnectionCallbacks>);
static_assert(!std::is_constructible_v<Server, LoopGroup&, ConnectionCallbacks>);

class CallbacksOfSeveralLoops : public test::NetTest {};
PEAL_TEST_ON_EVERY_ENGINE(CallbacksOfSeveralLoops);

TEST_P(CallbacksOfSeveralLoops, one_loop_takes_a_callback_that_counts_in_its_capture) {
  std::string told;
  auto server = serve({.on_open = [&told, count = 0](Connection&) mutable { told += std::to_string(++count); }});
  const RawPeer one = connect_peer();
  const RawPeer other = connect_peer();
  EXPECT_TRUE(wait_until([&] { return told == "12"; }));
}

TEST_P(CallbacksOfSeveralLoops, shared_callbacks_serve_a_group_and_a_single_loop) {
  auto group = LoopGroup::start(2, options()).value();
  std::atomic<int> opened = 0;
  const auto counting = [&] { return SharedConnectionCallbacks{.on_open = [&opened](Connection&) { ++opened; }}; };
  Server many(*group, counting(), {.accept = AcceptMode::kRoundRobin});
  auto single = serve(counting());
  const SocketAddress address = many.listen("127.0.0.1:0").value();
  std::array<RawPeer, 4> peers;
  for (RawPeer& peer : peers) peer.connect(address);
  const RawPeer alone = connect_peer();
  EXPECT_TRUE(wait_until([&] { return opened == 5; }));
}

}  // namespace
}  // namespace peal
