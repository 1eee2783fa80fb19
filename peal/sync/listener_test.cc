// SPDX-License-Identifier: BSD-3-Clause
// Tests of Listener: connections that a task accepts one by one.
#include <peal/sync/listener.h>

#include <string>

#include <gtest/gtest.h>

#include <peal/coro/connect.h>
#include <peal/coro/when.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::error_of;

class ListenerTest : public test::TaskTest {};

TEST_P(ListenerTest, a_client_talks_to_a_listener) {
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
  run([&]() -> Task<> {
    const auto bound = listener.listen("127.0.0.1:0");
    EXPECT_TRUE(bound);
    for (int i = 0; i < 3; ++i) co_await when_all(server(), client(bound->to_string()));
    EXPECT_EQ(error_of(co_await listener.accept().within(milliseconds(2))), errno_code(ETIMEDOUT));
    listener.close();
    EXPECT_EQ(error_of(co_await listener.accept()), errno_code(EPIPE));
    // Connects until it is refused, because the engine closes the listening socket a little later.
    std::error_code refused;
    for (int i = 0; i < 1000 && !refused; ++i) {
      refused = error_of(co_await connect(bound->to_string()));
      co_await sleep(milliseconds(1));
    }
    EXPECT_EQ(refused, errno_code(ECONNREFUSED));
  });
}

PEAL_TEST_ON_EVERY_PORT_AND_SIM(ListenerTest);

}  // namespace
}  // namespace peal
