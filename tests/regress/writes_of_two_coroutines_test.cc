// SPDX-License-Identifier: BSD-3-Clause
// In asio one write consists of many sends, each of which may send only a part and then wait. If two coroutines or
// threads write to one socket at the same time, they cut each other's messages to pieces (hazelcast PR #981, nano-node
// PR #4202). In peal a write() puts its bytes into the output queue in one piece, or waits for its turn before that.
#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/coro/when.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr size_t kWriterMessageBytes = 3000;
constexpr int kWriterMessages = 500;

class TwoWritersTest : public test::NetTest {};

Task<> write_as_writer(Stream& stream, char letter) {
  const std::string message(kWriterMessageBytes, letter);
  for (int i = 0; i < kWriterMessages; ++i) {
    // Alternates between a moved Buffer and a copied string, so that both overloads are used.
    Buffer moved(message);
    auto written = i % 2 == 0 ? co_await stream.write(std::move(moved)) : co_await stream.write(message);
    EXPECT_TRUE(written);
  }
}

TEST_P(TwoWritersTest, writes_of_two_coroutines_never_interleave) {
  ServerOptions options;
  options.connection.high_water_bytes = 10'000;  // so low that it is crossed again and again
  options.listen.socket.send_buffer_bytes = 4096;
  auto serve = [](Stream stream) -> Task<> {
    co_await when_all(write_as_writer(stream, 'a'), write_as_writer(stream, 'b'));
    EXPECT_TRUE(co_await stream.flush());
  };
  auto server = std::make_unique<CoServer>(loop(), serve, options);
  const Result<SocketAddress> address = server->listen("127.0.0.1:0");
  ASSERT_TRUE(address);
  RawPeer peer = RawPeer::connected(*address);
  ASSERT_TRUE(ends(peer));
  const std::string& got = peer.received();
  ASSERT_EQ(got.size(), 2 * kWriterMessages * kWriterMessageBytes);
  for (size_t at = 0; at < got.size(); at += kWriterMessageBytes) {
    ASSERT_EQ(got.substr(at, kWriterMessageBytes), std::string(kWriterMessageBytes, got[at]));
  }
  EXPECT_EQ(std::ranges::count(got, 'a'), std::ranges::count(got, 'b'));
}

PEAL_TEST_ON_EVERY_ENGINE(TwoWritersTest);

}  // namespace
}  // namespace peal
