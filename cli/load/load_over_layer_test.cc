// SPDX-License-Identifier: BSD-3-Clause
// Tests load runs over a StreamLayer (TLS is one). The layer of these tests makes a handshake and changes every byte.
// The messages are the same as without a layer.
#include <gtest/gtest.h>

#include <load/brief_load.h>
#include <load/session/echo_session.h>
#include <peal/engine/listening_socket.h>
#include <peal/net/server.h>
#include <tests/support/loop_thread.h>
#include <tests/support/sealed/sealed_port.h>

namespace peal::load {
namespace {

class LoadOverLayer : public test::LoopEngineTest {
 protected:
  LoadOptions brief_to(const SocketAddress& target) {
    LoadOptions options = brief_load(target, 8);
    options.threads = 2;
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
    // Counts the messages of the whole run: on a busy machine, all answers may come after the measured time.
    EXPECT_GT(outcome->lifetime.messages, 0U);
    EXPECT_EQ(outcome->lifetime.bytes_sent, outcome->lifetime.bytes_received);
    ASSERT_TRUE(outcome->handshakes.has_value());
    EXPECT_EQ(outcome->handshakes->done(), load.connections);
    EXPECT_EQ(outcome->handshakes->failed, 0U);
    EXPECT_EQ(outcome->connect.total_count(), load.connections);
  }
}

TEST_P(LoadOverLayer, each_connection_has_its_own_handshake) {
  test::LoopThread thread(options());
  Server server(thread.loop(),
                {.on_message = [](Connection& connection, Buffer& input) { connection.send(std::move(input)); }},
                {.connection = {.layer = &layer}});
  LoadOptions load = brief_to(server.listen("127.0.0.1:0").value());
  load.layer = &layer;
  load.requests_per_connection = {1, 1};
  auto outcome = run_load(load, EchoProtocol::unframed(load.size));
  while (outcome && outcome->lifetime.connects <= load.connections && load.duration < std::chrono::seconds(10)) {
    load.duration *= 4;  // the machine was too busy for a second connection
    outcome = run_load(load, EchoProtocol::unframed(load.size));
  }
  ASSERT_TRUE(outcome.has_value()) << outcome.error();
  EXPECT_TRUE(outcome->failures.empty()) << outcome->failures.kinds.begin()->second.first;
  EXPECT_EQ(outcome->handshakes->done(), outcome->lifetime.connects);
  EXPECT_GT(outcome->lifetime.connects, load.connections);
}

TEST_P(LoadOverLayer, a_server_without_the_layer_fails_every_connection) {
  test::LoopThread thread(options());
  Server server(thread.loop(), {.on_open = [](Connection& connection) { connection.send("220 who are you?"); }});
  LoadOptions load = brief_to(server.listen("127.0.0.1:0").value());
  load.layer = &layer;
  const auto outcome = run_load(load, EchoProtocol::unframed(64));
  ASSERT_FALSE(outcome.has_value()) << outcome->opened << " connections opened";
  EXPECT_TRUE(outcome.error().contains(": the handshake failed: ")) << outcome.error();
}

// The server accepts connections, but ignores the client's handshake. The handshake is expected to fail after 40 ms:
// first by the timeout for answers, then by the timeout for connecting.
TEST_P(LoadOverLayer, a_handshake_that_does_not_end_times_out) {
  test::LoopThread thread(options());
  Server server(thread.loop(), {.on_message = [](Connection&, Buffer& input) { input.clear(); }});
  for (const bool by_timeout : {true, false}) {
    LoadOptions load = brief_to(server.listen("127.0.0.1:0").value());
    load.layer = &layer;
    (by_timeout ? load.timeout.emplace() : load.connect_timeout) = std::chrono::milliseconds(40);
    const auto outcome = run_load(load, EchoProtocol::unframed(64));
    ASSERT_FALSE(outcome.has_value()) << outcome->opened << " connections opened";
    EXPECT_TRUE(outcome.error().ends_with(by_timeout ? ": the handshake failed: Connection timed out"
                                                     : ": a handshake was not done when --connect-timeout ended"))
        << outcome.error();
  }
}

TEST_P(LoadOverLayer, nobody_listens) {
  LoadOptions load = brief_to([] {
    const Result<Fd> gone = open_listening_socket(SocketAddress::parse("127.0.0.1:0").value(), {});
    return listening_address(gone->get()).value();
  }());
  load.layer = &layer;
  const auto outcome = run_load(load, EchoProtocol::unframed(64));
  ASSERT_FALSE(outcome.has_value()) << outcome->opened << " connections opened";
  EXPECT_TRUE(outcome.error().ends_with(": Connection refused")) << outcome.error();
}

PEAL_TEST_ON_EVERY_ENGINE(LoadOverLayer);

}  // namespace
}  // namespace peal::load
