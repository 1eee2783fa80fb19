// SPDX-License-Identifier: BSD-3-Clause
// A BoundedSender counts bytes as on their way until the kernel has them, however few it sends at a time. If it stopped
// counting small sends as soon as they were copied behind other queued output, the queue of a slow reader would grow
// without bound.
//
// When the connection has ended, nothing is on its way any more. Before, bytes that had not left by then stayed counted
// for ever.
#include <optional>
#include <string>

#include <peal/net/bounded_sender.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

class SmallBatches : public test::NetTest {};

TEST_P(SmallBatches, count_until_the_kernel_has_them) {
  constexpr size_t kMost = 10'000;
  std::optional<BoundedSender> sender;
  bool ended = false;
  auto server = serve({.on_open =
                           [&](Connection& connection) {
                             // This is more than the kernel takes while the peer does not read.
                             connection.send(pattern(5'000'000));
                             sender.emplace(connection.handle(), kMost);
                           },
                       .on_close = [&](Connection&, CloseReason) { ended = true; }},
                      {.listen = {.socket = {.send_buffer_bytes = 4'096}}});
  RawPeer peer = connect_peer(4'096);
  ASSERT_TRUE(wait_until([&] { return sender.has_value(); }));
  size_t taken = 0;
  for (int i = 0; i < 1'000; ++i) {
    taken += ask([&] { return sender->try_send(std::string(100, 'x')) ? 100 : 0; });
  }
  EXPECT_EQ(taken, kMost);
  EXPECT_EQ(sender->bytes_on_their_way(), kMost);
  peer.reset();
  ASSERT_TRUE(wait_until([&] { return ended; }));
  ask([&] { sender->try_send("this may still be accepted, but it comes too late"); });
  ASSERT_TRUE(wait_until([&] { return sender->ended(); }));
  EXPECT_EQ(sender->bytes_on_their_way(), 0U);
}

PEAL_TEST_ON_EVERY_ENGINE(SmallBatches);

}  // namespace
}  // namespace peal
