// SPDX-License-Identifier: BSD-3-Clause
// A coroutine passed where a callback belongs compiled and never ran: its Task was created and dropped, and nothing
// reported this. `loop.after(10ms, []() -> Task<> { ... })` did nothing, and a route that returned Task<int> left its
// request unanswered for ever. Now a callback must not return a value: this file compiles only while all coroutines are
// refused. tests/outside/compile_errors_test.py checks what compilers say about each.
#include <chrono>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/base/thread/thread.h>
#include <peal/base/thread/thread_pool.h>
#include <peal/coro/co_server.h>
#include <peal/http/client/http_client.h>
#include <peal/http/server/http_server.h>
#include <peal/http/websocket/websocket.h>
#include <peal/inspect/inspector.h>
#include <peal/loop/watch.h>
#include <peal/net/client.h>
#include <peal/net/datagram_socket.h>
#include <peal/net/pipe.h>
#include <peal/net/resolver.h>
#include <peal/observe/stall_watchdog.h>

namespace peal {
namespace {

// Gives the types of a plain function and of a coroutine that take the same arguments as the callback `Slot`.
template <class Slot>
struct ToldBy;
template <class... Args>
struct ToldBy<Callback<void(Args...)>> {
  using Coroutine = Task<> (*)(Args...);
  using Plain = void (*)(Args...);
};
template <class... Args>
struct ToldBy<SharedCallback<void(Args...)>> : ToldBy<Callback<void(Args...)>> {};
template <class... Args>
struct ToldBy<CopyableCallback<void(Args...)>> : ToldBy<Callback<void(Args...)>> {};

template <class Slot>
constexpr bool no_coroutine =
    Slot::template kAccepts<typename ToldBy<Slot>::Plain> && !Slot::template kAccepts<typename ToldBy<Slot>::Coroutine>;

static_assert(no_coroutine<Loop::Callback> && no_coroutine<Mailbox::Callback> && no_coroutine<TimerWheel::Callback>);
static_assert(no_coroutine<Watch::Callback> && no_coroutine<Watch::OnError> && no_coroutine<StallWatchdog::OnStall>);
static_assert(no_coroutine<ThreadPool::Task> && no_coroutine<Thread::Body> && no_coroutine<LogSink>);
static_assert(no_coroutine<decltype(ThreadPoolOptions::on_start)>);
static_assert(no_coroutine<Resolver::Answer> && no_coroutine<Client::ConnectFailed>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_open)>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_message)>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_writable)>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_peer_end)>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_drain)>);
static_assert(no_coroutine<decltype(ConnectionCallbacks::on_close)>);
static_assert(no_coroutine<decltype(SharedConnectionCallbacks::on_message)>);
static_assert(no_coroutine<decltype(DatagramCallbacks::on_datagram)>);
static_assert(no_coroutine<decltype(DatagramCallbacks::on_error)>);
static_assert(no_coroutine<HttpCallback> && no_coroutine<HttpClient::Answered>);
static_assert(no_coroutine<decltype(HttpServerOptions::access_log)>);
static_assert(no_coroutine<decltype(HttpFetchCallbacks::on_head)>);
static_assert(no_coroutine<decltype(HttpFetchCallbacks::on_body)>);
static_assert(no_coroutine<decltype(HttpFetchCallbacks::on_writable)>);
static_assert(no_coroutine<decltype(HttpFetchCallbacks::on_trailers)>);
static_assert(no_coroutine<decltype(HttpFetchCallbacks::on_done)>);
static_assert(no_coroutine<decltype(WebSocketCallbacks::on_open)>);
static_assert(no_coroutine<decltype(WebSocketCallbacks::on_message)>);
static_assert(no_coroutine<decltype(WebSocketCallbacks::on_writable)>);
static_assert(no_coroutine<decltype(WebSocketCallbacks::on_pong)>);
static_assert(no_coroutine<decltype(WebSocketCallbacks::on_close)>);
static_assert(no_coroutine<decltype(InspectorOptions::on_drain)>);

// A handler of HTTP returns void or Task<>, nothing else. If it returns another type, router.h fails to compile with a
// message that says so.
static_assert(detail::HandlerAnswer<void> && detail::HandlerAnswer<Task<>>);
static_assert(!detail::HandlerAnswer<Task<int>> && !detail::HandlerAnswer<int> && !detail::HandlerAnswer<Task<>&>);

// A callback that wants to run a coroutine spawns it in a Scope and returns.
TEST(CoroutineInACallbacksPlace, runs_if_the_callback_spawns_it) {
  Loop loop;
  Scope scope(loop);
  bool ran = false;
  const auto task = [&]() -> Task<> {
    ran = true;
    loop.stop();
    co_return;
  };
  loop.after(std::chrono::milliseconds(1), [&] { scope.spawn(task()); });
  ASSERT_TRUE(loop.run());
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace peal
