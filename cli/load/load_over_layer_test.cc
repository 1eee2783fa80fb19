// SPDX-License-Identifier: BSD-3-Clause
// A run whose connections stand over a layer: the sessions are the same, and know nothing of it.
#include <gtest/gtest.h>

#include <load/load_run.h>
#include <load/session/echo_session.h>
#include <peal/net/server.h>
#include <tests/support/loop_thread.h>
#include <tests/support/sealed/sealed_port.h>

namespace peal::load {
namespace {

class LoadOverLayer : public test::LoopEngineTest {
 protected:
  LoadOptions brief_to(const SocketAddress& target) {
    LoadOptions options;
    options.target = target;
    options.connections = 8;
    options.threads = 2;
    options.duration = std::chrono::milliseconds(100);
    options.warm_up = std::chrono::milliseconds(20);
    options.grace = std::chrono::seconds(5);
    options.engine = std::string(GetParam());
    return options;
  }

  const test::SealedLayer layer;
};

TEST_P(LoadOverLayer, every_byte_comes_back) {
  test::LoopThread thread(options());
  Server server(thread.loop(),
                {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }},
                {.connection = {.layer = &layer}});
  LoadOptions load = brief_to(server.listen("127.0.0.1:0").value());
  load.layer = &layer;
  for (const size_t size : {64, 100'000}) {
    load.size = size;
    const auto outcome = run_load(load, EchoProtocol::unframed(size));
    ASSERT_TRUE(outcome.has_value()) << outcome.error();
    EXPECT_TRUE(outcome->came_back);
    EXPECT_TRUE(outcome->failures.empty());
    EXPECT_EQ(outcome->opened, load.connections);
    EXPECT_GT(outcome->total.counts.messages, 0U);
    EXPECT_EQ(outcome->lifetime.bytes_sent, outcome->lifetime.bytes_received);
  }
}

TEST_P(LoadOverLayer, server_without_it_fails_every_connection) {
  test::LoopThread thread(options());
  Server server(thread.loop(), {.on_open = [](Connection& connection) { connection.send("220 who are you?"); }});
  LoadOptions load = brief_to(server.listen("127.0.0.1:0").value());
  load.layer = &layer;
  const auto outcome = run_load(load, EchoProtocol::unframed(64));
  ASSERT_FALSE(outcome.has_value()) << outcome->opened << " connections opened";
  EXPECT_TRUE(outcome.error().starts_with("cannot connect to ")) << outcome.error();
}

PEAL_TEST_ON_EVERY_ENGINE(LoadOverLayer);

}  // namespace
}  // namespace peal::load
