// SPDX-License-Identifier: BSD-3-Clause
// A server's connection that begins plain and starts its layer when its peer asks for it. The peers are sockets that
// send everything by hand: clear text, the beginning of the layer, and bytes that do not belong there.
#include <deque>
#include <string>

#include <gmock/gmock.h>

#include <tests/support/net_rig.h>
#include <tests/support/sealed/sealed_peer.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::sealed_text;
using test::SealedPeer;
using testing::ElementsAre;

// Takes the bytes up to a newline, and the newline.
std::optional<std::string> take_line(Buffer& input) {
  const size_t end = input.view().find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string line(input.view().substr(0, end));
  input.consume(end + 1);
  return line;
}

class StartLayerTest : public test::OverLayerTest {
 protected:
  static constexpr Duration kNotInThisTest = seconds(100);

  // Returns callbacks that note and answer each line, with "sealed" before lines that came over the layer. At "start"
  // they answer "go" and start the layer.
  ConnectionCallbacks talking() {
    ConnectionCallbacks callbacks = journal.callbacks();
    callbacks.on_open = [this](Connection& connection) {
      handle = connection.handle();
      journal.add("open");
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      while (const auto line = take_line(input)) {
        if (*line == "start") {
          connection.send("go\n");
          EXPECT_TRUE(connection.start_layer());
          EXPECT_FALSE(connection.is_open());
          EXPECT_FALSE(connection.send("not in the clear\n"));
          EXPECT_FALSE(connection.start_layer()) << "twice";
          return;
        }
        journal.add((secured ? "sealed " : "clear ") + *line);
        connection.send("heard " + *line + "\n");
      }
    };
    callbacks.on_secured = [this](Connection& connection) {
      secured = true;
      EXPECT_TRUE(connection.is_open());
      EXPECT_FALSE(connection.start_layer()) << "it is there";
      journal.add("secured");
    };
    callbacks.on_close = [this](Connection& connection, CloseReason reason) {
      error = connection.error();
      journal.add(std::string(to_string(reason)));
    };
    return callbacks;
  }
  testing::AssertionResult hears(RawPeer& peer, std::string_view text) {
    return wait_until([&peer, text] {
      peer.pump();
      return peer.received().starts_with(text);
    });
  }
  // Brings a peer into its handshake: the server has read "start" and waits for the byte.
  RawPeer starting(RawPeer peer) {
    peer.send("start\n");
    EXPECT_TRUE(hears(peer, "go\n" + std::string(test::kSealHello)));
    return peer;
  }

  std::error_code error;
  bool secured = false;
};

TEST_P(StartLayerTest, what_was_sent_before_leaves_in_the_clear_and_the_rest_sealed) {
  auto server = serve_later(talking());
  RawPeer peer = connect_peer();
  peer.send("one\nstart\n");
  const std::string clear = "heard one\ngo\n";
  ASSERT_TRUE(hears(peer, clear));
  SealedPeer sealed(std::move(peer), clear.size());
  ASSERT_TRUE(noted("secured"));
  sealed.send("two\n");
  ASSERT_TRUE(wait_until([&] { return sealed.records() == std::vector<std::string>{"heard two\n"}; }));
  sealed.raw.send(test::kEndMark);
  sealed.raw.fin();
  ASSERT_TRUE(noted("closed by the peer"));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "clear one", "secured", "sealed two", "closed by the peer"));
  EXPECT_EQ(server->stats().opened, 1u);
  EXPECT_EQ(server->stats().closed, 1u);
  EXPECT_EQ(server->stats().handshakes_failed, 0u);
}

// CVE-2011-0411: clear text that an attacker put after the line is not taken for a command over the layer.
TEST_P(StartLayerTest, plaintext_injected_behind_the_line_ends_it_and_is_never_delivered) {
  for (const bool kept_first : {false, true}) {
    auto server = serve_later(talking());
    RawPeer peer = connect_peer();
    peer.send(kept_first ? "sta" : "one\n");
    ASSERT_TRUE(opened());
    ask([] {});
    peer.send(kept_first ? "rt\nevil\n" : "start\nevil\n");
    EXPECT_TRUE(ends(peer));
    ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
    EXPECT_EQ(error, test::no_seal_hello());
    EXPECT_EQ(server->stats().handshakes_failed, 1u);
    EXPECT_FALSE(secured);
    handle = {};
  }
  EXPECT_EQ(journal.count("the socket failed"), 2u);
  EXPECT_EQ(journal.count("clear evil") + journal.count("sealed evil"), 0u);
}

TEST_P(StartLayerTest, plaintext_injected_later_ends_it_too) {
  auto server = serve_later(talking());
  RawPeer peer = starting(connect_peer());
  peer.send("evil\n");
  EXPECT_TRUE(ends(peer));
  ASSERT_TRUE(noted("the socket failed"));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "the socket failed"));
}

// A peer need not wait for the answer: bytes that came with the line belong to the layer from the beginning.
TEST_P(StartLayerTest, what_the_layer_said_with_the_line_is_not_lost) {
  auto server = serve_later(talking());
  RawPeer peer = connect_peer();
  peer.send("start\n" + std::string(test::kSealHello) + sealed_text("two\n"));
  ASSERT_TRUE(noted("sealed two"));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "secured", "sealed two"));
}

TEST_P(StartLayerTest, what_was_kept_and_what_was_taken_goes_to_the_layer_in_order) {
  std::string taken;
  ConnectionCallbacks callbacks = talking();
  auto lines = std::move(callbacks.on_message);
  // Consumes only the first byte.
  callbacks.on_message = [&](Connection& connection, Buffer& input) {
    if (secured) return lines(connection, input);
    if (taken.empty()) taken = input.take(1).to_string();
    journal.add(fmt::format("keeps {}", input.size()));
  };
  auto server = serve_later(std::move(callbacks));
  RawPeer peer = connect_peer();
  const std::string all = std::string(test::kSealHello) + sealed_text("two\n");
  peer.send(all);
  ASSERT_TRUE(noted(fmt::format("keeps {}", all.size() - 1)));
  ask([&] { handle.run([&](Connection& connection) { EXPECT_TRUE(connection.start_layer({}, Buffer(taken))); }); });
  ASSERT_TRUE(noted("sealed two"));
}

TEST_P(StartLayerTest, inside_on_open) {
  ConnectionCallbacks callbacks = talking();
  callbacks.on_open = [this](Connection& connection) {
    journal.add("open");
    EXPECT_TRUE(connection.start_layer());
  };
  auto server = serve_later(std::move(callbacks));
  SealedPeer peer(connect_peer());
  peer.send("two\n");
  ASSERT_TRUE(noted("sealed two"));
  EXPECT_THAT(journal.lines(), ElementsAre("open", "secured", "sealed two"));
}

TEST_P(StartLayerTest, ends_a_pause) {
  ConnectionCallbacks callbacks = talking();
  callbacks.on_open = [this](Connection& connection) {
    handle = connection.handle();
    connection.pause();
  };
  auto server = serve_later(std::move(callbacks));
  SealedPeer peer(connect_peer());
  peer.send("two\n");
  ASSERT_TRUE(opened());
  ask([&] { handle.run([](Connection& connection) { EXPECT_TRUE(connection.start_layer()); }); });
  ASSERT_TRUE(noted("sealed two"));
}

// The layer starts when the peer has read the queued output. on_writable is called then, over the layer.
TEST_P(StartLayerTest, output_that_waits_leaves_first_and_on_writable_comes_over_the_layer) {
  constexpr size_t kMuch = 9'000'000;
  ConnectionCallbacks callbacks = talking();
  callbacks.on_open = [this](Connection& connection) {
    EXPECT_FALSE(connection.send(std::string(kMuch, 'x')));
    EXPECT_TRUE(connection.start_layer());
    connection.report_drained();  // does nothing, since the connection is not open
    handle = connection.handle();
  };
  callbacks.on_writable = [this](Connection& connection) {
    journal.add(secured ? "writable" : "writable too early");
    connection.send("more");
  };
  auto server = serve_later(std::move(callbacks), {.connection = {.handshake_timeout = kNotInThisTest}});
  RawPeer peer = connect_peer(4096);
  ASSERT_TRUE(opened());
  EXPECT_TRUE(handle.send("dropped"));
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received().size() > kMuch;
  }));
  EXPECT_EQ(peer.received().substr(kMuch), test::kSealHello);
  EXPECT_EQ(peer.received().find_first_not_of('x'), kMuch);
  EXPECT_FALSE(secured);
  SealedPeer sealed(std::move(peer), kMuch);
  ASSERT_TRUE(wait_until([&] { return sealed.records() == std::vector<std::string>{"more"}; }));
  EXPECT_THAT(journal.lines(), ElementsAre("secured", "writable"));
}

TEST_P(StartLayerTest, has_its_deadline_in_all_it_does) {
  const ServerOptions soon{.connection = {.handshake_timeout = milliseconds(20)}};
  auto server = serve_later(talking(), soon);
  RawPeer silent = starting(connect_peer());
  EXPECT_TRUE(ends(silent));
  ASSERT_TRUE(noted("the socket failed"));
  EXPECT_EQ(error, errno_code(ETIMEDOUT));
  EXPECT_EQ(server->stats().handshakes_failed, 1u);
  ConnectionCallbacks callbacks = talking();
  callbacks.on_open = [](Connection& connection) {
    connection.send(std::string(20'000'000, 'x'));
    EXPECT_TRUE(connection.start_layer());
  };
  auto other = serve_later(std::move(callbacks), soon);
  RawPeer reads_nothing = connect_peer(4096);
  ASSERT_TRUE(noted("the socket failed", 2));
  EXPECT_EQ(other->stats().handshakes_failed, 1u);
}

TEST_P(StartLayerTest, peer_that_leaves_meanwhile_ends_it_once) {
  auto server = serve_later(talking());
  RawPeer leaves = starting(connect_peer());
  leaves.fin();
  EXPECT_TRUE(ends(leaves));
  ASSERT_TRUE(noted("the peer ended too early"));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
  RawPeer resets = starting(connect_peer());
  resets.reset();
  ASSERT_TRUE(noted("reset by the peer"));
  EXPECT_EQ(error, errno_code(ECONNRESET));
  EXPECT_EQ(server->stats().handshakes_failed, 2u);
  // The layer is started before the output has left, in the same turn as the line.
  ConnectionCallbacks callbacks = talking();
  callbacks.on_open = [this](Connection& connection) {
    connection.send(std::string(20'000'000, 'x'));
    EXPECT_TRUE(connection.start_layer());
    journal.add("waits");
  };
  auto other = serve_later(std::move(callbacks));
  RawPeer never_reads = connect_peer(4096);
  ASSERT_TRUE(noted("waits"));
  never_reads.reset();
  ASSERT_TRUE(noted("reset by the peer", 2));
  EXPECT_EQ(other->stats().closed, 1u);
  EXPECT_FALSE(secured);
}

TEST_P(StartLayerTest, line_and_end_in_one_piece_end_it_once) {
  auto server = serve_later(talking());
  for (size_t i = 0; i < 8; ++i) {
    RawPeer peer = connect_peer();
    peer.send("start\n");
    if (i % 2 == 0) {
      peer.fin();
    } else {
      peer.reset();
    }
    ASSERT_TRUE(wait_until([&] { return server->stats().closed == i + 1 && server->connections() == 0; }));
  }
  EXPECT_EQ(server->stats().opened, 8u);
}

TEST_P(StartLayerTest, closed_or_aborted_meanwhile_it_ends_at_once) {
  for (const bool aborts : {false, true}) {
    for (const bool from_its_loop : {false, true}) {
      auto server = serve_later(talking());
      RawPeer peer = starting(connect_peer());
      const size_t before = journal.lines().size();
      auto end = [&] { EXPECT_TRUE(aborts ? handle.abort() : handle.close()); };
      if (from_its_loop) {
        ask(end);
      } else {
        end();
      }
      EXPECT_TRUE(ends(peer));
      ASSERT_TRUE(wait_until([&] { return server->connections() == 0; }));
      ASSERT_EQ(journal.lines().size(), before + 1);
      EXPECT_EQ(journal.lines().back(), aborts ? "aborted here" : "closed here");
      EXPECT_EQ(server->stats().handshakes_failed, 0u);
    }
  }
}

// The connection ends in the turn in which its stream belongs to nobody: the engine has detached it and the layer does
// not have it yet.
TEST_P(StartLayerTest, ended_in_the_turn_of_its_start) {
  for (const std::string_view how : {"close", "abort", "throw", "server"}) {
    std::unique_ptr<Server> server;
    ConnectionCallbacks callbacks = talking();
    callbacks.on_message = [&](Connection& connection, Buffer&) {
      connection.send("go\n");
      EXPECT_TRUE(connection.start_layer());
      if (how == "close") loop().post([&] { handle.close(); });
      if (how == "abort") loop().post([&] { handle.abort(); });
      if (how == "server") loop().post([&] { server.reset(); });
      if (how == "throw") throw std::runtime_error("late");
    };
    server = serve_later(std::move(callbacks));
    RawPeer peer = connect_peer();
    peer.send("start\nand more\n");
    EXPECT_TRUE(ends(peer)) << how;
    ASSERT_TRUE(wait_until([&] { return !server || server->connections() == 0; })) << how;
  }
  EXPECT_FALSE(secured);
  EXPECT_EQ(journal.count("closed here"), 1u);
  EXPECT_EQ(journal.count("aborted here"), 1u);
  EXPECT_EQ(journal.count("a callback threw"), 1u);
}

TEST_P(StartLayerTest, server_and_loop_may_end_meanwhile) {
  for (const bool loop_first : {false, true}) {
    auto server = serve_later(talking(), {.connection = {.handshake_timeout = kNotInThisTest}});
    std::deque<RawPeer> peers;
    for (int i = 0; i < 3; ++i) peers.push_back(starting(connect_peer()));
    if (loop_first) end_loop();
    server.reset();
    if (loop_first) break;
    for (RawPeer& peer : peers) EXPECT_TRUE(ends(peer));
    EXPECT_EQ(journal.lines().size(), 3u) << "on_close after the server's end";
  }
  EXPECT_EQ(journal.count("the loop stopped"), 3u);
}

TEST_P(StartLayerTest, exception_of_on_secured_closes) {
  ConnectionCallbacks callbacks = talking();
  callbacks.on_secured = [](Connection&) { throw std::runtime_error("no"); };
  auto server = serve_later(std::move(callbacks));
  SealedPeer sealed(starting(connect_peer()));
  EXPECT_TRUE(noted("a callback threw"));
}

PEAL_TEST_ON_EVERY_ENGINE(StartLayerTest);

}  // namespace
}  // namespace peal
