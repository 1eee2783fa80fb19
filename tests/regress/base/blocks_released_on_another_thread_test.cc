// SPDX-License-Identifier: BSD-3-Clause
// A loop read messages and handed them to another thread that worked on them. Then no more messages came, and the loop
// slept. The blocks that the thread released waited until the loop's pool needed blocks, which it never did. So 100 MB
// stayed charged to the memory budget. The other loops of the process paused connections, and ended some, to save
// memory that nobody used. Now blocks that another thread releases are free at once if they exceed 1 MiB.
#include <thread>
#include <vector>

#include <peal/base/memory/memory_budget.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr uint64_t kMiB = 1024 * 1024;

class BlocksReleasedOnAnotherThread : public test::NetTest {
 protected:
  static constexpr size_t kMessageBytes = 16 * 1024;
  static constexpr size_t kBytes = 6 * kMiB;

  // Lets `make` turn a loop's input into buffers, and releases all of them on another thread while the loop sleeps.
  // Expects that at most 2 MiB stay charged to the memory budget.
  void expect_none_charged(std::function<void(std::vector<Buffer>&, Buffer&)> make) {
    std::vector<Buffer> made;
    size_t received = 0;
    auto server = serve({.on_message = [&](Connection&, Buffer& input) {
      received += input.size();
      make(made, input);
      input.clear();
    }});
    RawPeer peer = connect_peer();
    const uint64_t before = MemoryBudget::held_bytes();
    const std::string message = pattern(kMessageBytes);
    for (size_t sent = 0; sent < kBytes; sent += message.size()) {
      ASSERT_TRUE(send_all(peer, message));
      ASSERT_TRUE(wait_until([&] { return received == sent + message.size(); }));
    }
    EXPECT_GT(MemoryBudget::held_bytes(), before + kBytes / 2);
    std::thread([taken = ask([&] { return std::move(made); })] {}).join();
    EXPECT_LE(MemoryBudget::held_bytes(), before + 2 * kMiB);
  }
};

TEST_P(BlocksReleasedOnAnotherThread, whole_messages) {
  expect_none_charged([](std::vector<Buffer>& made, Buffer& input) { made.push_back(std::move(input)); });
}

// Each message is a part of the input, so many messages share one block.
TEST_P(BlocksReleasedOnAnotherThread, messages_cut_out_of_the_input) {
  expect_none_charged([](std::vector<Buffer>& made, Buffer& input) {
    while (input.size() > 1'000) made.push_back(input.take(1'000));
    made.push_back(std::move(input));
  });
}

TEST_P(BlocksReleasedOnAnotherThread, copies_in_small_blocks) {
  expect_none_charged([](std::vector<Buffer>& made, Buffer& input) {
    for (; !input.empty(); input.consume(std::min<size_t>(input.size(), 256))) {
      made.emplace_back(input.view(std::min<size_t>(input.size(), 256)));
    }
  });
}

PEAL_TEST_ON_EVERY_ENGINE(BlocksReleasedOnAnotherThread);

}  // namespace
}  // namespace peal
