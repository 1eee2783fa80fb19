// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends an endless message one byte at a time. What a callback leaves is kept; beyond a small block's size
// each further byte came in a block of 20 KiB of its own, and the chain kept them all: 10 KB of input pinned 200 MB,
// far below the input limit, which counts bytes. Little input is now copied behind what is kept.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

class DrippedInput : public test::NetTest {};

TEST_P(DrippedInput, pins_about_as_much_as_it_is_long) {
  auto server = serve({.on_message = [](Connection&, Buffer&) {}});
  auto bytes_in_use = [&] { return ask([] { return BlockPool::here().stats().bytes_in_use; }); };
  RawPeer peer = connect_peer();
  const uint64_t before = bytes_in_use();
  constexpr uint64_t kBytes = 1000;
  ASSERT_TRUE(wait_until([&, sent = uint64_t{0}]() mutable {
    if (loop().engine().stats().received_bytes < sent) return false;
    if (sent == kBytes) return true;
    peer.send("x");
    ++sent;
    return false;
  }));
  EXPECT_LE(bytes_in_use(), before + 4 * kLargeBlockBytes);
}

PEAL_TEST_ON_EVERY_ENGINE(DrippedInput);

}  // namespace
}  // namespace peal
