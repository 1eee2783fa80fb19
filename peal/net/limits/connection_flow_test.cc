// SPDX-License-Identifier: BSD-3-Clause
// The rate of bytes in and out of a connection: backpressure, pausing, unconsumed input, limits.
#include <algorithm>

#include <gmock/gmock.h>

#include <peal/net/connection.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

class ConnectionFlowTest : public test::NetTest {
 protected:
  // Returns callbacks that read frames: a length byte and as many bytes.
  ConnectionCallbacks framed() {
    return journal.callbacks({.on_message = [this](Connection&, Buffer& input) { take_frames(input); }});
  }
  void take_frames(Buffer& input) {
    while (!input.empty()) {
      size_t size = 1 + static_cast<uint8_t>(input.front()[0]);
      if (input.size() < size) return;
      journal.add("frame " + std::string(input.view(size).substr(1)));
      input.consume(size);
    }
  }
  static std::string frame(std::string_view body) { return static_cast<char>(body.size()) + std::string(body); }
  uint64_t bytes_in_use() {
    return ask([] { return BlockPool::here().stats().bytes_in_use; });
  }
};

TEST_P(ConnectionFlowTest, frames_split_at_every_byte) {
  auto server = serve(framed());
  const std::string bytes = frame("alpha") + frame("") + frame("be");
  RawPeer peer = connect_peer();
  uint64_t sent = 0;
  auto received = [&] { return loop().engine().stats().received_bytes == sent; };
  for (size_t cut = 1; cut < bytes.size(); ++cut) {
    peer.send(bytes.substr(0, cut));
    sent += cut;
    ASSERT_TRUE(wait_until(received));
    peer.send(bytes.substr(cut));
    sent += bytes.size() - cut;
    ASSERT_TRUE(wait_until(received));
    EXPECT_EQ(journal.count("frame alpha"), cut);
    EXPECT_EQ(journal.count("frame "), cut);
    EXPECT_EQ(journal.count("frame be"), cut);
  }
}

TEST_P(ConnectionFlowTest, frames_that_drip_byte_by_byte) {
  auto server = serve(framed());
  RawPeer peer = connect_peer();
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += frame(std::string(200, static_cast<char>('a' + i)));
  // Sends one byte in each turn: each has been received before the next is sent.
  ASSERT_TRUE(wait_until([&, sent = size_t{0}]() mutable {
    if (loop().engine().stats().received_bytes < sent) return false;
    if (sent == bytes.size()) return true;
    peer.send(bytes.substr(sent++, 1));
    return false;
  }));
  EXPECT_EQ(journal.lines().size(), 6u);
  EXPECT_EQ(journal.count("frame " + std::string(200, 'e')), 1u);
}

TEST_P(ConnectionFlowTest, small_remainder_does_not_pin_a_large_block) {
  auto server = serve(framed());
  const uint64_t before = bytes_in_use();
  std::vector<RawPeer> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(connect_peer());
    peers.back().send(frame("whole") + '\x40' + "part");
  }
  ASSERT_TRUE(noted("frame whole", 50));
  EXPECT_LE(bytes_in_use(), before + 50 * kSmallBlockBytes);
}

TEST_P(ConnectionFlowTest, input_above_its_limit_closes) {
  auto callbacks = journal.callbacks();
  callbacks.on_message = [](Connection&, Buffer&) {};
  auto server = serve(std::move(callbacks), {.connection = {.input_limit_bytes = 100'000}});
  RawPeer peer = connect_peer();
  const std::string bytes(65'536, 'x');
  ASSERT_TRUE(wait_until([&] {
    peer.try_send(bytes);
    return journal.lines().size() == 2;
  }));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "close: too much unconsumed input"));
}

// The peer does not decide how many bytes arrive at once.
TEST_P(ConnectionFlowTest, what_a_callback_that_pauses_leaves_is_in_no_limit) {
  constexpr size_t kSize = 65'536;
  size_t most_left = 0;
  size_t taken = 0;
  auto callbacks = journal.callbacks();
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    const size_t takes = std::min<size_t>(input.size(), 512);
    input.consume(takes);
    most_left = std::max(most_left, input.size());
    taken += takes;
    if (taken == kSize) return journal.add("all");
    connection.pause();
    connection.loop().post([&connection] { connection.resume(); });
  };
  auto server = serve(std::move(callbacks), {.connection = {.input_limit_bytes = 1000}});
  RawPeer peer = connect_peer();
  peer.send(std::string(kSize, 'x'));
  EXPECT_THAT(noted_lines(2), ElementsAre("open", "all"));
  EXPECT_GT(ask([&] { return most_left; }), 1000U);
}

TEST_P(ConnectionFlowTest, output_above_its_limit_closes) {
  auto callbacks = journal.callbacks();
  callbacks.on_open = [this](Connection& connection) {
    int sent = 0;
    while (connection.is_open()) {
      connection.send(std::string(100'000, 'x'));
      ++sent;
    }
    journal.add(std::to_string(sent));
  };
  auto server = serve(std::move(callbacks), {.connection = {.output_limit_bytes = 1'000'000}});
  RawPeer peer = connect_peer();
  EXPECT_THAT(noted_lines(2), ElementsAre("11", "close: too much unsent output"));
}

TEST_P(ConnectionFlowTest, peer_that_never_reads_pauses_receiving_and_memory_stays_bounded) {
  size_t most_queued = 0;
  auto server = serve({.on_message =
                           [&](Connection& connection, Buffer& input) {
                             connection.send(std::move(input));
                             most_queued = std::max(most_queued, connection.queued_bytes());
                           },
                       .on_writable = [&](Connection&) { journal.add("writable"); }});
  const uint64_t before = bytes_in_use();
  RawPeer peer = connect_peer();
  std::string bytes = pattern(60'000'000);
  // Sends until no byte was taken for a while: the server has stopped reading.
  size_t sent = 0;
  ASSERT_TRUE(wait_until([&, quiet = 0]() mutable {
    size_t now = peer.try_send(std::string_view(bytes).substr(sent));
    sent += now;
    quiet = now == 0 ? quiet + 1 : 0;
    return quiet == 200;
  }));
  ASSERT_LT(sent, bytes.size()) << "the kernel took it all: nothing was tested";
  // Bytes that an engine had received before the pause come on top of the mark.
  EXPECT_LE(ask([&] { return most_queued; }), 8u * 1024 * 1024);
  EXPECT_LE(bytes_in_use(), before + 12 * 1024 * 1024);
  bytes.resize(std::min(bytes.size(), sent + 1'000'000));
  ASSERT_TRUE(wait_until([&] {
    sent += peer.try_send(std::string_view(bytes).substr(sent));
    peer.pump();
    return peer.received().size() == bytes.size();
  }));
  EXPECT_TRUE(same_bytes(peer.received(), bytes));
  EXPECT_GE(journal.count("writable"), 1u);
}

TEST_P(ConnectionFlowTest, writable_comes_once_at_half_of_the_mark) {
  size_t left = 0;
  bool below = true;
  auto server = serve({.on_open =
                           [&](Connection& connection) {
                             while (connection.send(std::string(100'000, 'x'))) {
                             }
                             below = connection.send("y");
                             while (connection.queued_bytes() < 30'000'000)
                               connection.send(std::string(1'000'000, 'x'));
                           },
                       .on_writable =
                           [&](Connection& connection) {
                             left = connection.queued_bytes();
                             journal.add("writable");
                             below = connection.send("z");
                           }},
                      {.connection = {.high_water_bytes = 8'000'000}});
  RawPeer peer = connect_peer(65'536);
  ASSERT_TRUE(wait_until([&] { return left > 0 || !below; }));
  EXPECT_EQ(journal.count("writable"), 0u);
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return !peer.received().empty() && peer.received().back() == 'z';
  }));
  EXPECT_EQ(journal.count("writable"), 1u);
  ask([&] {
    EXPECT_LE(left, 4'000'000u);
    EXPECT_TRUE(below);
  });
}

TEST_P(ConnectionFlowTest, paused_connection_receives_nothing_until_resumed) {
  ConnectionHandle handle;
  auto server = serve(journal.callbacks({.on_open = [&](Connection& connection) {
    connection.pause();
    handle = connection.handle();
  }}));
  RawPeer peer = connect_peer();
  peer.send("hello");
  ASSERT_TRUE(wait_until([&, turns = 0]() mutable { return static_cast<bool>(handle) && ++turns > 20; }));
  EXPECT_TRUE(journal.lines().empty());
  handle.run([](Connection& connection) {
    connection.resume();
    connection.resume();
  });
  ASSERT_TRUE(noted("message 5"));
  ask([&] { handle = {}; });
}

TEST_P(ConnectionFlowTest, input_left_at_a_pause_is_shown_again_after_resume) {
  ConnectionHandle handle;
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer& input) {
    journal.add(std::string(input.view(1)));
    input.consume(1);
    handle = connection.handle();
    if (!input.empty()) connection.pause();
  }}));
  RawPeer peer = connect_peer();
  peer.send("abc");
  for (std::string_view next : {"a", "b", "c"}) {
    ASSERT_TRUE(noted(next)) << next;
    handle.run([](Connection& connection) { connection.resume(); });
  }
  EXPECT_THAT(journal.lines(), ElementsAre("open", "a", "b", "c"));
  ask([&] { handle = {}; });
}

TEST_P(ConnectionFlowTest, resume_inside_on_message_shows_again_from_the_loop) {
  bool inside = false;
  auto callbacks = journal.callbacks();
  callbacks.on_open = nullptr;
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    EXPECT_FALSE(inside);
    inside = true;
    journal.add(std::string(input.view(1)));
    input.consume(1);
    connection.pause();
    connection.resume();
    inside = false;
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send("x");
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 1; }));
  peer.send("abcd");
  // Unconsumed input is not shown again by itself: this callback consumes one byte at a time.
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() >= 2; }));
}

TEST_P(ConnectionFlowTest, kept_input_comes_back_when_output_has_drained) {
  // Takes one request at a time while its answer can be sent.
  auto server = serve(journal.callbacks({.on_message = [&](Connection& connection, Buffer& input) {
    while (!input.empty()) {
      input.consume(1);
      journal.add("request");
      if (!connection.send(std::string(1'000'000, 'x'))) return;
    }
  }}));
  RawPeer peer = connect_peer();
  peer.send("12345678");
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() == 8'000'000;
  }));
  EXPECT_EQ(journal.count("request"), 8u);
}

PEAL_TEST_ON_EVERY_PORT(ConnectionFlowTest);

}  // namespace
}  // namespace peal
