// SPDX-License-Identifier: BSD-3-Clause
// MessageDispatcher: these tests check which handler is called, and what happens to a connection whose peer sends
// messages that cannot be read.
#include <peal/protobuf/message_dispatcher.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <peal/protobuf/codec/named_codec.h>
#include <peal/wire/framing/integer_bytes.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using test::frame_of;
using test::framed_body;
using test::kNamed;
using test::message;
using test::Nothing;
using test::Payload;
using test::Query;
using test::Reply;
using test::sentence;
using test::summed;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kRefused = "the peer sent a message that breaks the protocol";

Query query(int id) { return message<Query>("id: " + std::to_string(id) + " questioner: 'q'"); }

// Returns a frame with this type name and message, and with the right length and checksum.
std::string frame_named(const std::string& name, std::string_view bytes) {
  std::string counted;
  append_integer<4>(counted, name.size() + 1);
  return framed_body(summed(counted.append(name).append(1, '\0').append(bytes)));
}

struct BadFrame {
  std::string bytes;
  Trouble why;
  std::string type_name;
};

// Returns one bad frame of each kind after which the next frame can still be read.
std::vector<BadFrame> bad_frames() {
  std::string damaged = frame_of(query(1));
  damaged[20] = static_cast<char>(damaged[20] + 1);
  return {{damaged, Trouble::kBadChecksum, ""},
          {framed_body(summed(std::string("\0\0\0\5xx", 6))), Trouble::kBadMessageName, ""},
          {frame_named("peal.test.Note", ""), Trouble::kUnknownMessageType, "peal.test.Note"},
          {frame_named("peal.test.Query", "\x08\x01"), Trouble::kUnreadableMessage, "peal.test.Query"}};
}

class MessageDispatcherTest : public test::NetTest {
 protected:
  // Returns a dispatcher that writes each message to the journal and answers each Query.
  MessageDispatcher noting() {
    MessageDispatcher dispatcher;
    dispatcher.on<Query>([this](Connection& connection, const Query& asked) {
      journal.add("query " + std::to_string(asked.id()));
      Reply answer;
      answer.set_id(asked.id());
      connection.send(framed(kNamed, answer));
    });
    dispatcher.on<Nothing>([this](Connection&, Nothing&) { journal.add("nothing"); });
    return dispatcher;
  }
  std::unique_ptr<Server> serve_with(MessageDispatcher& dispatcher) {
    return serve({.on_message = dispatcher.on_message(), .on_close = [this](Connection& connection, CloseReason why) {
                    error = connection.error();
                    journal.add(std::string(to_string(why)));
                  }});
  }
  uint64_t refused(const Server& server) {
    return ask([&] { return server.stats().bad_messages; });
  }

  std::error_code error;
};

std::string answer_to(int id) { return frame_of(message<Reply>("id: " + std::to_string(id))); }

TEST_P(MessageDispatcherTest, calls_the_handler_of_each_type_however_the_bytes_are_cut) {
  MessageDispatcher dispatcher = noting();
  auto server = serve_with(dispatcher);
  const std::string stream = frame_of(query(1)) + frame_of(Nothing()) + frame_of(query(2));
  for (size_t cut = 0; cut < stream.size(); cut += 13) {
    journal.clear();
    RawPeer peer = connect_peer();
    peer.send(stream.substr(0, cut));
    ASSERT_TRUE(wait_until([&] { return peer.pump(); }));
    peer.send(stream.substr(cut));
    ASSERT_TRUE(hears_all(peer, answer_to(1) + answer_to(2)));
    peer.fin();
    EXPECT_THAT(noted_lines(4), ElementsAre("query 1", "nothing", "query 2", "closed by the peer")) << "cut at " << cut;
  }
  EXPECT_EQ(refused(*server), 0U);
}

TEST_P(MessageDispatcherTest, reads_messages_of_many_blocks_and_what_follows_them) {
  MessageDispatcher dispatcher = noting();
  Payload large;
  large.set_payload(std::string(300'000, 'x'));
  dispatcher.on<Payload>([this, &large](Connection&, const Payload& payload) {
    journal.add(payload.payload() == large.payload() ? "large" : "another");
  });
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  ASSERT_TRUE(send_all(peer, frame_of(query(1)) + frame_of(large) + frame_of(large) + frame_of(query(2))));
  EXPECT_THAT(noted_lines(4), ElementsAre("query 1", "large", "large", "query 2"));
  EXPECT_TRUE(hears_all(peer, answer_to(1) + answer_to(2)));
}

TEST_P(MessageDispatcherTest, refuses_what_it_cannot_read_behind_the_answers_before_it) {
  for (const BadFrame& bad : bad_frames()) {
    journal.clear();
    log_texts.clear();
    MessageDispatcher dispatcher = noting();
    auto server = serve_with(dispatcher);
    RawPeer peer = connect_peer();
    peer.send(frame_of(query(7)) + bad.bytes + frame_of(query(8)));
    ASSERT_TRUE(ends(peer));
    EXPECT_EQ(peer.received(), answer_to(7));
    peer.close();
    EXPECT_THAT(noted_lines(2), ElementsAre("query 7", kRefused));
    EXPECT_EQ(error, make_error_code(bad.why));
    EXPECT_EQ(refused(*server), 1U);
    ASSERT_EQ(log_texts.lines().size(), 1U);
    EXPECT_THAT(log_texts.lines().front(), HasSubstr(sentence(bad.why)));
    EXPECT_THAT(log_texts.lines().front(), HasSubstr("\"" + bad.type_name + "\""));
  }
}

TEST_P(MessageDispatcherTest, refuses_hostile_lengths_at_once) {
  for (const auto& [length, why] :
       {std::pair(9U, Trouble::kMessageTooShort), std::pair(64U * 1024 * 1024 + 1, Trouble::kMessageTooLong)}) {
    journal.clear();
    MessageDispatcher dispatcher = noting();
    auto server = serve_with(dispatcher);
    RawPeer peer = connect_peer();
    std::string bytes;
    append_integer<4>(bytes, length);
    peer.send(bytes);
    ASSERT_TRUE(ends(peer));
    peer.close();
    EXPECT_THAT(noted_lines(1), ElementsAre(kRefused));
    EXPECT_EQ(error, make_error_code(why));
  }
}

TEST_P(MessageDispatcherTest, logs_one_line_a_second_whatever_peers_send) {
  MessageDispatcher dispatcher = noting();
  auto server = serve_with(dispatcher);
  std::vector<RawPeer> peers;
  const TimePoint begin = ask([&] { return loop().now(); });
  for (int number = 0; number < 20; ++number) {
    peers.push_back(connect_peer());
    peers.back().send(frame_named("\x1b[31m" + std::string(3000, 'x'), ""));
    ASSERT_TRUE(ends(peers.back()));
  }
  const std::vector<std::string> lines = log_texts.lines();
  const Duration time = ask([&] { return loop().now(); }) - begin;
  EXPECT_LE(lines.size(), static_cast<size_t>(time / std::chrono::seconds(1)) + 1);
  ASSERT_FALSE(lines.empty());
  EXPECT_LT(lines.front().size(), 400U);
  EXPECT_THAT(lines.front(), HasSubstr("\\x1B[31mxxx"));
}

TEST_P(MessageDispatcherTest, tells_the_users_callback_and_goes_on_if_that_ends_nothing) {
  for (const BadFrame& bad : bad_frames()) {
    journal.clear();
    MessageDispatcher dispatcher = noting();
    dispatcher.on_bad([&, this](Connection&, const BadMessage& said) {
      EXPECT_EQ(said.body_bytes, bad.bytes.size() - 4);
      journal.add(sentence(said.why) + ": " + std::string(said.type_name));
    });
    auto server = serve_with(dispatcher);
    RawPeer peer = connect_peer();
    peer.send(bad.bytes + frame_of(query(8)));
    ASSERT_TRUE(hears_all(peer, answer_to(8)));
    EXPECT_THAT(noted_lines(2), ElementsAre(sentence(bad.why) + ": " + bad.type_name, "query 8"));
    EXPECT_EQ(refused(*server), 0U);
  }
}

TEST_P(MessageDispatcherTest, ends_a_broken_stream_even_if_the_users_callback_does_not) {
  MessageDispatcher dispatcher = noting();
  dispatcher.on_bad([this](Connection&, const BadMessage& said) { journal.add(sentence(said.why)); });
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  peer.send(std::string(20, '\0'));
  ASSERT_TRUE(ends(peer));
  peer.close();
  EXPECT_THAT(noted_lines(2), ElementsAre(sentence(Trouble::kMessageTooShort), kRefused));
}

TEST_P(MessageDispatcherTest, says_why_a_broken_stream_ends_even_if_the_users_callback_ends_it) {
  MessageDispatcher dispatcher;
  dispatcher.on_bad([](Connection& connection, const BadMessage&) { connection.close(); });
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  peer.send(std::string(20, '\0'));
  ASSERT_TRUE(ends(peer));
  peer.close();
  EXPECT_THAT(noted_lines(1), ElementsAre(kRefused));
  EXPECT_EQ(error, make_error_code(Trouble::kMessageTooShort));
  EXPECT_EQ(refused(*server), 1U);
}

TEST_P(MessageDispatcherTest, calls_nobody_after_a_handler_has_closed_or_thrown) {
  MessageDispatcher dispatcher;
  dispatcher.on<Query>([this](Connection& connection, const Query& asked) {
    journal.add("query " + std::to_string(asked.id()));
    if (asked.id() == 1) connection.close();
    if (asked.id() == 2) throw std::runtime_error("a handler failed");
  });
  auto server = serve_with(dispatcher);
  for (const auto& [id, reason] : {std::pair(1, "closed here"), std::pair(2, "a callback threw")}) {
    journal.clear();
    RawPeer peer = connect_peer();
    peer.send(frame_of(query(id)) + frame_of(query(3)));
    ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
    peer.close();
    EXPECT_THAT(noted_lines(2), ElementsAre("query " + std::to_string(id), reason));
  }
}

TEST_P(MessageDispatcherTest, waits_while_the_connection_is_paused) {
  ConnectionHandle handle;
  MessageDispatcher dispatcher;
  dispatcher.on<Query>([&, this](Connection& connection, const Query& asked) {
    journal.add("query " + std::to_string(asked.id()));
    handle = connection.handle();
    connection.pause();
  });
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  peer.send(frame_of(query(1)) + frame_of(query(2)));
  ASSERT_TRUE(noted("query 1"));
  ask([] {});
  EXPECT_EQ(journal.count("query 2"), 0U);
  handle.run([](Connection& connection) { connection.resume(); });
  ASSERT_TRUE(noted("query 2"));
}

TEST_P(MessageDispatcherTest, gives_each_message_a_clear_object) {
  MessageDispatcher dispatcher;
  dispatcher.on<Query>([this](Connection&, Query& asked) {
    journal.add(std::to_string(asked.question_size()));
    asked.add_question("added by the handler");
  });
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  Query with_questions = query(1);
  with_questions.add_question("one");
  with_questions.add_question("two");
  peer.send(frame_of(with_questions) + frame_of(query(2)) + frame_of(with_questions));
  EXPECT_THAT(noted_lines(3), ElementsAre("2", "0", "2"));
}

TEST_P(MessageDispatcherTest, peer_that_ends_inside_a_message_has_truncated_it) {
  MessageDispatcher dispatcher = noting();
  auto server = serve_with(dispatcher);
  RawPeer peer = connect_peer();
  peer.send(frame_of(query(1)) + frame_of(query(2)).substr(0, 20));
  peer.fin();
  ASSERT_TRUE(ends(peer));
  EXPECT_THAT(noted_lines(2), ElementsAre("query 1", "the peer ended too early"));
  EXPECT_EQ(error, make_error_code(Trouble::kTruncated));
}

TEST_P(MessageDispatcherTest, serves_every_loop_of_a_group) {
  auto group = LoopGroup::start(2, group_options()).value();
  std::atomic<int> count = 0;
  MessageDispatcher dispatcher;
  dispatcher.on<Query>([&](Connection& connection, const Query& asked) {
    ++count;
    connection.send(frame_of(asked));
  });
  SharedConnectionCallbacks callbacks;
  callbacks.on_message = dispatcher.on_message();
  Server server(*group, std::move(callbacks), group_server());
  const Result<SocketAddress> bound = server.listen("127.0.0.1:0");
  ASSERT_TRUE(bound);
  std::vector<RawPeer> peers = RawPeer::connected_many(*bound, 8);
  const std::string sent = frame_of(query(1)) + frame_of(query(2));
  for (RawPeer& peer : peers) peer.send(sent);
  for (RawPeer& peer : peers) EXPECT_TRUE(hears_all(peer, sent));
  EXPECT_EQ(count, 16);
}

TEST_P(MessageDispatcherTest, of_a_client_hears_what_a_server_sends) {
  auto server = serve({.on_open = [](Connection& connection) { connection.send(frame_of(query(5))); }});
  MessageDispatcher dispatcher = noting();
  Client client(loop(), {.on_message = dispatcher.on_message()});
  ASSERT_TRUE(client.connect(address()));
  EXPECT_TRUE(noted("query 5"));
}

PEAL_TEST_ON_EVERY_PORT(MessageDispatcherTest);

TEST(MessageDispatcherDeathTest, twice_the_same_type_is_refused_and_a_late_one_is_a_mistake) {
  MessageDispatcher dispatcher;
  const auto ignore = [](Connection&, const Query&) {};
  dispatcher.on<Query>(ignore);
  EXPECT_THROW(dispatcher.on<Query>(ignore), std::invalid_argument);
  const auto on_message = dispatcher.on_message();
  EXPECT_DEATH(dispatcher.on<Nothing>([](Connection&, const Nothing&) {}), "that are in use");
}

TEST(MessageDispatcherDeathTest, no_callback_for_bad_messages_is_a_mistake_before_any_comes) {
  MessageDispatcher dispatcher;
  EXPECT_DEATH(dispatcher.on_bad(nullptr), "no callback for bad messages");
}

}  // namespace
}  // namespace peal
