// SPDX-License-Identifier: BSD-3-Clause
// Clients ask for much and read nothing. In other servers each such client takes what its output limit allows, until
// the machine is out of memory. Input that never becomes a message does the same. In peal the process stays near its
// memory budget, whatever the clients do, and a client that keeps reading gets its whole answer.
#include <algorithm>

#include <peal/base/memory/memory_budget.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

constexpr uint64_t kReadersMiB = 1 << 20;
constexpr size_t kSlowReaders = 24;

class MemoryUnderAttack : public test::NetTest {
 protected:
  void SetUp() override {
    test::NetTest::SetUp();
    if (IsSkipped()) return;
    // The pool already keeps blocks before the attack, so the marks are set relative to these.
    const uint64_t held = MemoryBudget::held_bytes();
    marks_ = {.soft_bytes = held + 16 * kReadersMiB, .hard_bytes = held + 40 * kReadersMiB};
    MemoryBudget::set(marks_);
  }
  void TearDown() override {
    MemoryBudget::set(MemoryBudget::default_marks());
    peers_.clear();
    test::NetTest::TearDown();
  }
  void attack() {
    for (size_t i = 0; i < kSlowReaders; ++i) peers_.push_back(connect_peer(16 * 1024));
  }
  // Sends from all peers what their sockets take, until done() is true.
  testing::AssertionResult flood_until(const std::function<bool()>& done) {
    return wait_until([&, chunk = std::string(64 * 1024, 'x')] {
      for (RawPeer& peer : peers_) peer.try_send(chunk);
      most_held_ = std::max(most_held_, MemoryBudget::held_bytes());
      return done();
    });
  }

  MemoryMarks marks_;
  std::vector<RawPeer> peers_;
  uint64_t most_held_ = 0;
};

TEST_P(MemoryUnderAttack, clients_that_do_not_read_are_no_longer_read_from) {
  auto server = serve(test::echoing(), {.connection = {.high_water_bytes = 8 * kReadersMiB}});
  attack();
  ASSERT_TRUE(flood_until([&, turns = 0]() mutable { return ++turns == 400; }));
  const NetStats stats = server->stats();
  EXPECT_GT(stats.memory_pauses, 0u);
  EXPECT_LT(most_held_, marks_.hard_bytes + 4 * kReadersMiB);
  // Now the peers that are still connected read. They get their echo, and paused connections continue.
  ASSERT_TRUE(wait_until([&] {
    for (RawPeer& peer : peers_) peer.pump();
    return MemoryBudget::below_low();
  }));
}

TEST_P(MemoryUnderAttack, answers_without_end_are_cut_off_at_the_hard_mark) {
  auto server = serve({.on_message =
                           [](Connection& connection, Buffer& input) {
                             input.clear();
                             // A careless user ignores what send() returns.
                             for (int i = 0; i < 40 && connection.is_open(); ++i) {
                               connection.send(std::string(256 * 1024, 'y'));
                             }
                           }},
                      {.connection = {.high_water_bytes = 64 * 1024}});
  attack();
  ASSERT_TRUE(flood_until([&] { return server->connections() <= kSlowReaders / 2; }));
  EXPECT_LT(most_held_, marks_.hard_bytes + 4 * kReadersMiB);
}

TEST_P(MemoryUnderAttack, header_without_end_stays_under_the_input_limit) {
  // This test is about the input limit of each connection, so the budget is raised. Kept input may pin four times its
  // size.
  MemoryBudget::set(
      {.soft_bytes = marks_.soft_bytes + 64 * kReadersMiB, .hard_bytes = marks_.hard_bytes + 64 * kReadersMiB});
  size_t most_input = 0;
  auto server =
      serve({.on_message = [&](Connection&, Buffer& input) { most_input = std::max(most_input, input.size()); }},
            {.connection = {.input_limit_bytes = 256 * 1024}});
  attack();
  ASSERT_TRUE(flood_until([&] { return server->connections() == 0; }));
  // The last call may show one hand-over of the engine beyond the limit.
  EXPECT_LE(most_input, 256 * 1024 + 4 * kReadersMiB);
}

TEST_P(MemoryUnderAttack, messages_that_never_end_are_paused_below_the_input_limit) {
  auto server = serve({.on_message = [](Connection&, Buffer&) {}});
  attack();
  ASSERT_TRUE(flood_until([&, turns = 0]() mutable { return ++turns == 400; }));
  EXPECT_GT(server->stats().memory_pauses, 0u);
  EXPECT_LT(most_held_, marks_.hard_bytes + 4 * kReadersMiB);
}

PEAL_TEST_ON_EVERY_ENGINE(MemoryUnderAttack);

}  // namespace
}  // namespace peal
