// SPDX-License-Identifier: BSD-3-Clause
// The callbacks of a server on several loops are one set, called on several threads at once; a `mutable` lambda among
// them, which counts in what it captured, was a data race that compiled. Now it does not compile there, and does where
// there is one loop. What is shared without its knowing how many loops there will be, a router's handlers and the
// callbacks of WebSockets, refuses it altogether. This file compiles only while that is so, and
// tests/outside/compile_errors_test.py sees what compilers say.
#include <atomic>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

// What a `mutable` lambda is: it changes what it holds.
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
// Those of several loops do for one, but not the other way round.
static_assert(std::is_constructible_v<Server, Loop&, SharedConnectionCallbacks>);
static_assert(std::is_constructible_v<Server, LoopGroup&, SharedConnectionCallbacks>);
static_assert(std::is_constructible_v<Client, Loop&, SharedConnectionCallbacks>);
static_assert(!std::is_constructible_v<Server, LoopGroup&, ConnectionCallbacks>);

class CallbacksOfSeveralLoops : public test::NetTest {};
PEAL_TEST_ON_EVERY_ENGINE(CallbacksOfSeveralLoops);

TEST_P(CallbacksOfSeveralLoops, one_loop_may_have_what_counts_by_itself) {
  std::string told;
  auto server = serve({.on_open = [&told, count = 0](Connection&) mutable { told += std::to_string(++count); }});
  const RawPeer one = connect_peer();
  const RawPeer other = connect_peer();
  EXPECT_TRUE(wait_until([&] { return told == "12"; }));
}

TEST_P(CallbacksOfSeveralLoops, shared_ones_serve_a_group_and_a_single_loop) {
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
