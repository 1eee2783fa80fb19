// SPDX-License-Identifier: BSD-3-Clause
#include <peal/sync/async_datagrams.h>

#include <string>

#include <peal/coro/when.h>
#include <peal/sync/select.h>
#include <tests/support/engines/task_rig.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::error_of;

class AsyncDatagramsTest : public test::TaskTest {};

TEST_P(AsyncDatagramsTest, one_answers_another_until_it_is_closed) {
  run([&]() -> Task<> {
    AsyncDatagrams server(loop());
    AsyncDatagrams client(loop());
    const SocketAddress there = server.open("127.0.0.1:0").value();
    EXPECT_TRUE(client.open("127.0.0.1:0"));
    auto serves = [&]() -> Task<> {
      while (auto datagram = co_await server.receive()) {
        EXPECT_TRUE(server.send_to(datagram->from, datagram->bytes.to_string()));
      }
    };
    auto asks = [&]() -> Task<> {
      for (const size_t size : {0, 1, 30'000}) {
        EXPECT_TRUE(client.send_to(there, std::string(size, 'x')));
        const auto answer = (co_await client.receive().within(hours(1))).value();
        EXPECT_EQ(answer.bytes.size(), size);
        EXPECT_EQ(answer.from, there);
      }
      EXPECT_EQ((co_await select(client.receive(), sleep(milliseconds(1)))).value().index(), 1U);
      EXPECT_EQ(error_of(co_await client.receive().within(milliseconds(1))), errno_code(ETIMEDOUT));
      server.close();
      EXPECT_EQ(error_of(server.send_to(there, "x")), errno_code(EBADF));
      EXPECT_EQ(error_of(co_await server.receive()), errno_code(EPIPE));
    };
    co_await when_all(serves(), asks());
  });
}

TEST_P(AsyncDatagramsTest, options_and_groups_are_those_of_its_socket) {
  run([&]() -> Task<> {
    AsyncDatagrams small(loop());
    AsyncDatagrams large(loop());
    const std::string group = "239.255.77.3:0";
    EXPECT_EQ(error_of(small.join(group)), errno_code(EBADF));
    EXPECT_EQ(error_of(small.leave(group)), errno_code(EBADF));
    EXPECT_TRUE(small.open("127.0.0.1:0", {.receive_buffer_bytes = 16'384}));
    EXPECT_TRUE(large.open(SocketAddress::parse("127.0.0.1:0").value(), {.receive_buffer_bytes = 65'536}));
    EXPECT_EQ(large.socket().buffers().value().receive_bytes, 4 * small.socket().buffers().value().receive_bytes);
    // The group was not joined; in the simulator, there are no groups at all.
    EXPECT_FALSE(small.leave(SocketAddress::parse(group).value()));
    EXPECT_FALSE(small.join(small.socket().local_address().value()));
    co_return;
  });
}

TEST_P(AsyncDatagramsTest, more_than_may_wait_are_dropped_and_counted) {
  run([&]() -> Task<> {
    AsyncDatagrams slow(loop(), 2);
    AsyncDatagrams sender(loop());
    const SocketAddress there = slow.open("127.0.0.1:0").value();
    EXPECT_TRUE(sender.open("127.0.0.1:0"));
    for (const std::string text : {"a", "b", "c", "d"}) EXPECT_TRUE(sender.send_to(there, text));
    co_await until([&] { return slow.socket().stats().received >= 4; });
    EXPECT_EQ(slow.dropped(), 2U);
    EXPECT_EQ((co_await slow.receive()).value().bytes.to_string(), "a");
    slow.close();
    EXPECT_EQ((co_await slow.receive()).value().bytes.to_string(), "b");
    EXPECT_EQ(error_of(co_await slow.receive()), errno_code(EPIPE));
  });
}

PEAL_TEST_ON_EVERY_ENGINE_AND_SIM(AsyncDatagramsTest);

}  // namespace
}  // namespace peal
