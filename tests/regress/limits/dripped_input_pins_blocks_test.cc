// SPDX-License-Identifier: BSD-3-Clause
// A peer sent an endless message one byte at a time. The connection keeps input that a callback leaves. When the kept
// input had filled a small block, each further byte came in a block of 20 KiB of its own, and all these blocks were
// kept. So 10 KB of input pinned 200 MB. The input limit, which counts bytes, was far from reached. Now a few bytes of
// input are copied behind the input that is kept.

#include <tests/support/net_rig.h>

namespace peal {
namespace {

class DrippedInput : public test::NetTest {};

TEST_P(DrippedInput, pins_about_as_much_memory_as_it_is_long) {
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
