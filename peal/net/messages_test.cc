// SPDX-License-Identifier: BSD-3-Clause
// messages(): what a handler is called with, and how a connection ends whose peer breaks the framing.
#include <peal/net/messages.h>

#include <atomic>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/net/connection_facts.h>
#include <peal/wire/framing/delimiter_framing.h>
#include <peal/wire/framing/length_framing.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using testing::ElementsAre;

constexpr LengthFraming kFraming{.length_bytes = 2, .counts_itself = true, .limit_bytes = 100};
const std::string kTruncated = "the peer ended too early";
const std::string kBad = "the peer sent a message that breaks the protocol";

std::string framed(std::string_view body) {
  Buffer frame;
  kFraming.append(frame, body);
  return frame.to_string();
}

class MessagesTest : public test::NetTest {
 protected:
  // Returns callbacks that note each body, and the reason and the error of the end.
  ConnectionCallbacks noting() {
    return {.on_message =
                messages(kFraming, [this](Connection&, std::string_view body) { journal.add(std::string(body)); }),
            .on_close = noting_end()};
  }
  ConnectionCallbacks noting(Callback<void(Connection&, Buffer&)> on_message) {
    return {.on_message = std::move(on_message), .on_close = noting_end()};
  }
  // Returns the on_message of a server that answers each message with its own frame.
  static auto answering() {
    return messages(kFraming, [](Connection& connection, std::string_view body) { connection.send(framed(body)); });
  }
  uint64_t refused(const Server& server) {
    return ask([&] { return server.stats().bad_messages; });
  }

  std::error_code error;

 private:
  Callback<void(Connection&, CloseReason)> noting_end() {
    return [this](Connection& connection, CloseReason reason) {
      error = connection.error();
      journal.add(std::string(to_string(reason)));
    };
  }
};

TEST_P(MessagesTest, come_one_by_one_however_they_were_cut) {
  auto server = serve(noting());
  const std::string stream = framed("one") + framed("") + framed("three");
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    journal.clear();
    RawPeer peer = connect_peer();
    peer.send(stream.substr(0, cut));
    ASSERT_TRUE(wait_until([&] { return peer.pump(); }));
    peer.send(stream.substr(cut));
    peer.fin();
    EXPECT_THAT(noted_lines(4), ElementsAre("one", "", "three", "closed by the peer")) << "cut at " << cut;
  }
  EXPECT_EQ(refused(*server), 0u);
}

TEST_P(MessagesTest, drip_byte_by_byte) {
  auto server = serve(noting(answering()));
  RawPeer peer = connect_peer();
  const std::string stream = framed("one") + framed("") + framed("three");
  for (const char& byte : stream) {
    peer.send({&byte, 1});
    ask([] {});
  }
  EXPECT_TRUE(hears_all(peer, stream));
}

TEST_P(MessagesTest, may_be_kept_in_their_blocks) {
  std::vector<Buffer> kept;
  auto server = serve(noting(messages(kFraming, [&](Connection& connection, Buffer&& body) {
    kept.push_back(std::move(body));
    if (kept.size() < 3) return;
    for (Buffer& each : kept) connection.send(std::move(each));
    kept.clear();
  })));
  RawPeer peer = connect_peer();
  peer.send(framed("one") + framed("") + framed("three"));
  EXPECT_TRUE(hears_all(peer, "onethree"));
}

TEST_P(MessagesTest, over_the_limit_is_refused_behind_the_answers_before_it) {
  auto server = serve(noting(answering()));
  RawPeer peer = connect_peer();
  peer.send(framed("one") + std::string("\0\x67", 2));
  ASSERT_TRUE(ends(peer)) << "its length was there";
  EXPECT_EQ(peer.received(), framed("one"));
  EXPECT_EQ(peer.error(), 0) << "it ended with a reset";
  peer.send("what comes now is dropped");
  peer.fin();
  ASSERT_TRUE(noted(kBad));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooLong));
  EXPECT_EQ(refused(*server), 1u);
}

TEST_P(MessagesTest, peer_is_told_why_it_is_refused) {
  auto tell = [](Connection& connection, Trouble why) { connection.send(make_error_code(why).message()); };
  auto server = serve(noting(messages(kFraming, [](Connection&, std::string_view) {}, tell)));
  RawPeer peer = connect_peer();
  peer.send(std::string("\0\1", 2));
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), make_error_code(Trouble::kMessageTooShort).message());
  peer.close();
  ASSERT_TRUE(noted(kBad));
}

TEST_P(MessagesTest, below_its_own_size_is_refused) {
  auto server = serve(noting());
  RawPeer peer = connect_peer();
  peer.send(std::string("\0\1", 2));
  ASSERT_TRUE(ends(peer));
  peer.close();
  ASSERT_TRUE(noted(kBad));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooShort));
  EXPECT_EQ(refused(*server), 1u);
}

TEST_P(MessagesTest, refused_peer_that_resets_or_never_ends_was_refused_all_the_same) {
  ServerOptions options;
  options.connection.linger_timeout = std::chrono::milliseconds(20);
  auto server = serve(noting(), options);
  RawPeer resets = connect_peer();
  resets.send("\xff\xff");
  ASSERT_TRUE(ends(resets));
  resets.reset();
  ASSERT_TRUE(noted(kBad));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooLong));
  RawPeer stays = connect_peer();
  stays.send("\xff\xff");
  ASSERT_TRUE(noted(kBad, 2));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooLong));
  EXPECT_EQ(refused(*server), 2u);
}

TEST_P(MessagesTest, refused_peer_that_a_drain_cuts_off_is_forced) {
  auto on_bad = [](Connection& connection, Trouble) { connection.send(std::string(8'000'000, 'x')); };
  auto server = serve(noting(messages(kFraming, [](Connection&, std::string_view) {}, on_bad)));
  RawPeer peer = connect_peer();
  peer.send("\xff\xff");
  ASSERT_TRUE(wait_until([&] { return server->stats().bad_messages == 1; }));
  auto report = drain(*server, std::chrono::milliseconds(1));
  ASSERT_TRUE(wait_until([&] { return reported(report); }));
  EXPECT_EQ(report.get().forced, 1u);
  ASSERT_TRUE(noted(kBad));
}

TEST_P(MessagesTest, refusal_outlives_what_ends_the_connection) {
  auto refusing = [](Connection& connection, Buffer& input) {
    input.clear();
    connection.refuse(Trouble::kTruncated);
  };
  auto server = serve(noting(refusing));
  RawPeer peer = connect_peer();
  peer.send("half");
  ASSERT_TRUE(ends(peer));
  peer.reset();
  ASSERT_TRUE(noted(kTruncated));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
}

TEST_P(MessagesTest, input_that_nobody_will_read_is_let_go) {
  ConnectionHandle handle;
  auto server = serve(
      noting(messages(kFraming, [&](Connection& connection, std::string_view) { handle = connection.handle(); })));
  RawPeer peer = connect_peer();
  peer.send(framed("one") + framed(std::string(100, 'y')).substr(0, 60));
  const ConnectionsView view = server->views().at(0);
  ASSERT_TRUE(wait_until([&] { return view.list(1).at(0).kept_bytes == 60; }));
  handle.run([](Connection& connection) {
    connection.send(std::string(8'000'000, 'x'));
    connection.close();
  });
  ASSERT_TRUE(wait_until([&] { return view.list(1).at(0).state == "ending"; }));
  EXPECT_EQ(ask([&] { return view.list(1).at(0).kept_bytes; }), 0u);
}

TEST_P(MessagesTest, end_inside_a_message_is_truncation) {
  auto server = serve(noting(answering()));
  RawPeer peer = connect_peer();
  peer.send(framed("one") + framed("two").substr(0, 4));
  peer.fin();
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), framed("one"));
  ASSERT_TRUE(noted(kTruncated));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
  EXPECT_EQ(refused(*server), 1u);
}

TEST_P(MessagesTest, end_inside_a_message_is_the_users_who_looks_at_ends) {
  ConnectionCallbacks callbacks = noting();
  callbacks.on_peer_end = [this](Connection& connection) {
    journal.add("end");
    connection.close();
  };
  auto server = serve(std::move(callbacks));
  RawPeer peer = connect_peer();
  peer.send(framed("two").substr(0, 4));
  peer.fin();
  EXPECT_THAT(noted_lines(2), ElementsAre("end", "closed here"));
  EXPECT_EQ(refused(*server), 0u);
}

TEST_P(MessagesTest, wait_while_the_connection_is_paused) {
  ConnectionHandle handle;
  auto server = serve(noting(messages(kFraming, [&](Connection& connection, std::string_view body) {
    journal.add(std::string(body));
    handle = connection.handle();
    connection.pause();
  })));
  RawPeer peer = connect_peer();
  peer.send(framed("one") + framed("two") + framed("three"));
  ASSERT_TRUE(noted("one"));
  peer.fin();
  for (const std::string next : {"two", "three"}) {
    ask([] {});
    EXPECT_EQ(journal.count(next), 0u);
    handle.run([](Connection& connection) { connection.resume(); });
    ASSERT_TRUE(noted(next));
  }
  handle.run([](Connection& connection) { connection.resume(); });
  ASSERT_TRUE(noted("closed by the peer"));
}

TEST_P(MessagesTest, are_shown_no_more_once_the_handler_has_closed_or_thrown) {
  auto server = serve(noting(messages(LineFraming{}, [this](Connection& connection, std::string_view line) {
    journal.add(std::string(line));
    if (line == "close") connection.close();
    if (line == "refuse") {
      connection.refuse(Trouble::kMessageTooLong);
      connection.refuse(Trouble::kMessageTooShort);
    }
    if (line == "throw") throw std::runtime_error("a handler failed");
  })));
  const std::vector<std::pair<std::string, std::string>> ends_by_line = {
      {"close", "closed here"}, {"refuse", kBad}, {"throw", "a callback threw"}};
  for (const auto& [line, reason] : ends_by_line) {
    journal.clear();
    RawPeer peer = connect_peer();
    peer.send(line + "\r\nnever\n");
    ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
    peer.close();
    EXPECT_THAT(noted_lines(2), ElementsAre(line, reason));
  }
  EXPECT_EQ(error, std::error_code());
  EXPECT_EQ(refused(*server), 1u) << "twice is once";
}

TEST_P(MessagesTest, of_a_client_that_a_server_breaks) {
  auto server = serve({.on_open = [](Connection& connection) { connection.send(framed("hello") + "\xff\xff"); }});
  Client client(loop(), noting());
  ASSERT_TRUE(client.connect(address()));
  EXPECT_THAT(noted_lines(2), ElementsAre("hello", kBad));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooLong));
}

TEST_P(MessagesTest, meet_the_input_limit_that_is_below_their_own) {
  ServerOptions options;
  options.connection.input_limit_bytes = 50;
  auto server = serve(noting(), options);
  RawPeer peer = connect_peer();
  peer.send(framed(std::string(100, 'x')).substr(0, 60));
  ASSERT_TRUE(noted("too much unconsumed input"));
}

TEST_P(MessagesTest, of_a_group_are_handled_on_every_loop) {
  auto group = LoopGroup::start(2, group_options()).value();
  std::atomic<int> count = 0;
  SharedConnectionCallbacks callbacks;
  callbacks.on_message = messages(VarintFraming{}, [&](Connection& connection, std::string_view body) {
    ++count;
    connection.send(body);
  });
  Server server(*group, std::move(callbacks), group_server());
  const Result<SocketAddress> bound = server.listen("127.0.0.1:0");
  ASSERT_TRUE(bound);
  std::vector<RawPeer> peers = RawPeer::connected_many(*bound, 8);
  for (RawPeer& peer : peers) peer.send("\3one\3two");
  for (RawPeer& peer : peers) EXPECT_TRUE(hears_all(peer, "onetwo"));
  EXPECT_EQ(count, 16);
}

PEAL_TEST_ON_EVERY_PORT(MessagesTest);

}  // namespace
}  // namespace peal
