// SPDX-License-Identifier: BSD-3-Clause
// 5.8 MB were queued, as buffers of 60 bytes, for a peer that does not read. Each buffer kept its own block, which made
// 65 to 92 MB in all. output_limit_bytes counted only the content, so it would have allowed 64 MiB of such buffers: 700
// MB for one connection. Now small pieces share blocks, wherever they come from, and the limit counts the memory that
// is held.
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tests/support/file_of.h>
#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

constexpr size_t kMiB = 1024 * 1024;

// Returns a buffer of `bytes` bytes in a large block of its own.
Buffer in_large_block(size_t bytes) {
  Buffer buffer;
  const auto room = buffer.prepare(kLargeBlockBytes);
  std::memset(room.data(), 'x', bytes);  // memset, because an unoptimized loop over 64 KiB took most of the time
  buffer.commit(bytes);
  return buffer;
}

// Returns a buffer of `bytes` bytes in a block whose other bytes have another owner.
Buffer cut_out(size_t bytes) {
  Buffer received = in_large_block(kLargeBlockBytes);
  return received.take(bytes);
}

struct Queued {
  size_t content_bytes = 0;
  size_t held_bytes = 0;  // the most that blocks held meanwhile
  bool is_open = true;
};

// Sends pieces until `bytes` of content are queued or the connection has ended.
Queued send_pieces(Connection& connection, size_t bytes, const std::function<Buffer()>& piece) {
  const uint64_t before = BlockPool::here().stats().bytes_in_use;
  Queued queued;
  while (connection.is_open() && queued.content_bytes < bytes) {
    Buffer next = piece();
    queued.content_bytes += next.size();
    queued.held_bytes = std::max(queued.held_bytes, BlockPool::here().stats().bytes_in_use - before);
    connection.send(std::move(next));
  }
  queued.is_open = connection.is_open();
  return queued;
}

class LimitsCountMemory : public test::NetTest {
 protected:
  // Returns what a connection has queued for a peer that does not read.
  Queued queue(const ConnectionOptions& limits, size_t bytes, std::function<Buffer()> piece) {
    std::optional<Queued> queued;
    auto server = serve({.on_open = [&](Connection& connection) { queued = send_pieces(connection, bytes, piece); }},
                        {.listen = {.socket = {.send_buffer_bytes = 4'096}}, .connection = limits});
    RawPeer peer = connect_peer(4'096);
    EXPECT_TRUE(wait_until([&] { return queued.has_value(); }));
    return queued.value_or(Queued());
  }
};

TEST_P(LimitsCountMemory, small_pieces_share_blocks) {
  for (const auto& piece : {+[] { return Buffer(std::string(60, 'x')); }, +[] { return in_large_block(60); },
                            +[] { return cut_out(60); }, +[] { return cut_out(2'000); }}) {
    const Queued queued = queue({.high_water_bytes = kMiB / 4, .output_limit_bytes = kMiB}, 725'000, piece);
    EXPECT_TRUE(queued.is_open);
    EXPECT_LE(queued.held_bytes, 2 * queued.content_bytes);
  }
}

TEST_P(LimitsCountMemory, small_shared_pieces_are_copied) {
  const SharedBytes shared = share_bytes(std::string(60, 'x'));
  long most_holders = 0;
  const Queued queued = queue({}, 600'000, [&] {
    most_holders = std::max(most_holders, shared.use_count());
    Buffer buffer;
    buffer.append(shared);
    return buffer;
  });
  EXPECT_LE(queued.held_bytes, 2 * queued.content_bytes);
  EXPECT_LE(most_holders, 3);
}

// Each piece has 6,000 bytes in a block of 20 KiB. The queue takes these blocks as they are, and counts the whole
// blocks.
TEST_P(LimitsCountMemory, limit_counts_whole_blocks) {
  const Queued queued = queue({.output_limit_bytes = 4 * kMiB}, 8 * kMiB, [] { return in_large_block(6'000); });
  EXPECT_FALSE(queued.is_open);
  EXPECT_LE(queued.held_bytes, 4 * kMiB + 4 * kLargeBlockBytes);
  EXPECT_GE(queued.held_bytes, 3 * kMiB);
}

// The bytes of a file are not memory. The pieces between files are memory, and so is what the queue needs for each
// file.
TEST_P(LimitsCountMemory, limit_counts_the_pieces_between_files) {
  const FileRange file = test::file_of("f");
  const std::vector<std::function<void(Connection&)>> kinds = {
      [&](Connection& connection) { connection.send("x"); },
      [&](Connection& connection) { connection.send(in_large_block(1)); },
      [&](Connection& connection) { connection.send(in_large_block(600)); },
      [shared = share_bytes("abc")](Connection& connection) { connection.send(shared); },
      [](Connection&) {},
  };
  for (const auto& send_piece : kinds) {
    std::optional<uint64_t> held;
    bool over = false, told = false;
    auto server = serve({.on_open =
                             [&](Connection& connection) {
                               const uint64_t before = BlockPool::here().stats().bytes_in_use;
                               uint64_t most = 0;
                               for (int i = 0; i < 1'000'000 && connection.is_open(); ++i) {
                                 send_piece(connection);
                                 connection.send_file(file);
                                 most = std::max(most, BlockPool::here().stats().bytes_in_use - before);
                                 told = told || (connection.is_open() && !connection.send(""));
                               }
                               over = !connection.is_open();
                               held = most;
                             }},
                        {.connection = {.output_limit_bytes = 4 * kMiB}});
    RawPeer peer = connect_peer(4'096);
    ASSERT_TRUE(wait_until([&] { return held.has_value(); }));
    EXPECT_TRUE(over);
    EXPECT_TRUE(told) << "the high-water mark comes before the limit";
    EXPECT_LE(*held, 4 * kMiB + 4 * kLargeBlockBytes);
  }
}

PEAL_TEST_ON_EVERY_ENGINE(LimitsCountMemory);

class SimLimitsCountMemory : public test::SimTest {};

TEST_F(SimLimitsCountMemory, small_pieces_share_blocks_and_the_limit_counts_memory) {
  on_seeds(10, rough(), [&](test::SimPair& pair) {
    Queued small, large;
    Server server(*pair.here,
                  {.on_open =
                       [&](Connection& connection) {
                         small = send_pieces(connection, kMiB, [] { return cut_out(60); });
                         large = send_pieces(connection, 8 * kMiB, [] { return in_large_block(6'000); });
                       }},
                  {.connection = {.output_limit_bytes = 4 * kMiB}});
    Client client(*pair.there, {.on_open = [](Connection& connection) { connection.pause(); }});
    ASSERT_TRUE(client.connect(pair.listen(server)));
    ASSERT_TRUE(pair.run_until([&] { return large.content_bytes > 0; }));
    EXPECT_TRUE(small.is_open);
    EXPECT_LE(small.held_bytes, 2 * small.content_bytes);
    EXPECT_FALSE(large.is_open);
    EXPECT_LE(large.held_bytes, 4 * kMiB);
  });
}

}  // namespace
}  // namespace peal
