// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a connection made by coroutines: connect, Listener, resolve.
#include <peal/coro/connect.h>

#include <string>

#include <gmock/gmock.h>

#include <peal/coro/listener.h>
#include <peal/coro/resolve.h>
#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/coro/when.h>
#include <tests/support/loop_thread.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;

class ConnectTest : public test::LoopEngineTest {
 protected:
  void SetUp() override {
    test::LoopEngineTest::SetUp();
    if (!IsSkipped()) loop_ = test::make_loop(options()).value();
  }
  Loop& loop() { return *loop_; }
  void run(Task<> task) {
    Scope scope(loop());
    scope.spawn(stop_after(std::move(task)));
    ASSERT_TRUE(loop().run());
  }

 private:
  Task<> stop_after(Task<> task) {
    co_await std::move(task);
    loop().stop();
  }
  std::unique_ptr<Loop> loop_;
};

TEST_P(ConnectTest, a_client_talks_to_a_listener) {
  Listener listener(loop());
  auto server = [&]() -> Task<> {
    auto stream = co_await listener.accept();
    if (!stream) co_return;
    auto line = co_await stream->read_until("\n");
    if (line) co_await stream->write(std::move(*line));
    EXPECT_TRUE((co_await stream->read())->empty());
  };
  auto client = [&](std::string address) -> Task<> {
    auto stream = co_await connect(address);
    if (!stream) {
      ADD_FAILURE() << stream.error().message();
      co_return;
    }
    EXPECT_TRUE(co_await stream->write("hello\n"));
    auto answer = co_await stream->read_until("\n");
    EXPECT_EQ(answer.value().to_string(), "hello\n");
  };
  auto test = [&]() -> Task<> {
    const auto bound = listener.listen("127.0.0.1:0");
    EXPECT_TRUE(bound);
    for (int i = 0; i < 3; ++i) co_await when_all(server(), client(bound->to_string()));
    EXPECT_EQ(error_of(co_await listener.accept().within(milliseconds(2))), errno_code(ETIMEDOUT));
    listener.close();
    EXPECT_EQ(error_of(co_await listener.accept()), errno_code(EPIPE));
    // The engine closes the listening socket soon.
    std::error_code refused;
    for (int i = 0; i < 1000 && !refused; ++i) {
      refused = error_of(co_await connect(bound->to_string()));
      co_await sleep(milliseconds(1));
    }
    EXPECT_EQ(refused, errno_code(ECONNREFUSED));
  };
  run(test());
}

TEST_P(ConnectTest, what_cannot_be_connected_is_an_error) {
  auto test = [&]() -> Task<> {
    EXPECT_EQ(error_of(co_await connect("no address")), std::error_code(Trouble::kBadAddress));
  };
  run(test());
}

TEST_P(ConnectTest, connecting_is_cancelled_and_leaves_nothing_behind) {
  Listener listener(loop());
  auto test = [&]() -> Task<> {
    const auto bound = listener.listen("127.0.0.1:0");
    Scope scope(loop());
    auto client = [&]() -> Task<> { EXPECT_EQ(error_of(co_await connect(bound->to_string())), errno_code(ECANCELED)); };
    auto canceller = [&]() -> Task<> {
      scope.cancel();
      co_return;
    };
    scope.spawn(client());
    scope.spawn(canceller());
    co_await scope.join();
  };
  run(test());
}

TEST_P(ConnectTest, addresses_are_resolved_and_lookups_cancelled) {
  Resolver resolver(loop());
  auto test = [&]() -> Task<> {
    auto found = co_await resolve(resolver, "127.0.0.1", 80);
    EXPECT_EQ(found.value().front().to_string(), "127.0.0.1:80");
    EXPECT_EQ(error_of(co_await resolve(resolver, "not a name", 80)), std::error_code(Trouble::kBadAddress));
    Scope scope(loop());
    auto lookup = [&]() -> Task<> {
      EXPECT_EQ(error_of(co_await resolve(resolver, "127.0.0.2", 80)), errno_code(ECANCELED));
    };
    scope.cancel();
    scope.spawn(lookup());
    co_await scope.join();
    EXPECT_EQ(resolver.pending(), 0u);
  };
  run(test());
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(ConnectTest);

}  // namespace
}  // namespace peal
