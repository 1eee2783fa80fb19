// SPDX-License-Identifier: BSD-3-Clause
// messages_of() is tested with messages of one type, in each of the three formats.
#include <peal/protobuf/messages_of.h>

#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <peal/protobuf/codec/delimited_codec.h>
#include <peal/protobuf/codec/named_codec.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/net_rig.h>

namespace peal {
namespace {

using test::Payload;
using test::Query;
using testing::ElementsAre;

const std::string kBroken = "the peer sent a message that breaks the protocol";

Payload payload_of(const std::string& bytes) {
  Payload message;
  message.set_payload(bytes);
  return message;
}

class MessagesOfTest : public test::NetTest {
 protected:
  // Starts a server that sends each message back, in the format of `codec`.
  template <class Codec>
  std::unique_ptr<Server> serve_echo(const Codec& codec) {
    const auto echo = [codec](Connection& connection, const Payload& message) {
      connection.send(framed(codec, message));
    };
    return serve({.on_message = messages_of<Payload>(codec, echo), .on_close = noting_end()});
  }
  Callback<void(Connection&, CloseReason)> noting_end() {
    return [this](Connection& connection, CloseReason reason) {
      error = connection.error();
      journal.add(std::string(to_string(reason)));
    };
  }

  std::error_code error;
};

TEST_P(MessagesOfTest, are_echoed_in_each_format_small_and_large) {
  for (const std::string name : {"named", "tagged", "delimited"}) {
    test::with_codec(name, "RPC0", [&, this](const auto& codec) {
      auto server = serve_echo(codec);
      RawPeer peer = connect_peer();
      Buffer sent;
      for (const size_t size : {5U, 0U, 200'000U, 7U}) codec.append(sent, payload_of(std::string(size, 'x')));
      ASSERT_TRUE(send_all(peer, sent.view()));
      EXPECT_TRUE(hears_all(peer, sent.view())) << name;
    });
  }
}

TEST_P(MessagesOfTest, of_another_kind_end_the_connection) {
  for (const std::string name : {"named", "tagged", "delimited"}) {
    test::with_codec(name, "RPC0", [&, this](const auto& codec) {
      journal.clear();
      auto server =
          serve({.on_message = messages_of<Query>(codec, [](Connection&, const Query&) {}), .on_close = noting_end()});
      RawPeer peer = connect_peer();
      peer.send(framed(codec, payload_of("not a query")).to_string());
      ASSERT_TRUE(ends(peer));
      peer.close();
      EXPECT_THAT(noted_lines(1), ElementsAre(kBroken));
      const Trouble why = name == "named" ? Trouble::kUnknownMessageType : Trouble::kUnreadableMessage;
      EXPECT_EQ(error, make_error_code(why));
    });
  }
}

TEST_P(MessagesOfTest, that_are_bad_are_told_to_the_users_callback) {
  constexpr TaggedCodec kCodec{.tag = "NOTE"};
  const auto note = [this](Connection&, const Payload& message) { journal.add(message.payload()); };
  auto on_bad = [this](Connection& connection, const BadMessage& bad) {
    journal.add(test::sentence(bad.why));
    if (bad.why == Trouble::kUnknownMessageType) connection.close();
  };
  auto server = serve({.on_message = messages_of<Payload>(kCodec, note, std::move(on_bad)), .on_close = noting_end()});
  RawPeer peer = connect_peer();
  std::string damaged = framed(kCodec, payload_of("one")).to_string();
  damaged.back() = static_cast<char>(damaged.back() + 1);
  const std::string other = framed(TaggedCodec{.tag = "RPC0"}, payload_of("two")).to_string();
  const std::string good = framed(kCodec, payload_of("three")).to_string();
  peer.send(damaged + good + other + good);
  ASSERT_TRUE(ends(peer));
  peer.close();
  EXPECT_THAT(noted_lines(4), ElementsAre(test::sentence(Trouble::kBadChecksum), "three",
                                          test::sentence(Trouble::kUnknownMessageType), "closed here"));
}

TEST_P(MessagesOfTest, may_be_moved_out_of_their_object) {
  std::vector<Payload> kept;
  auto server = serve({.on_message = messages_of<Payload>(DelimitedCodec(), [&](Connection& connection, Payload& one) {
                         kept.push_back(std::move(one));
                         if (kept.size() < 3) return;
                         for (const Payload& each : kept) connection.send(each.payload());
                       })});
  RawPeer peer = connect_peer();
  Buffer sent;
  for (const std::string text : {"one", "two", "three"}) DelimitedCodec().append(sent, payload_of(text));
  peer.send(sent.view());
  EXPECT_TRUE(hears_all(peer, "onetwothree"));
}

PEAL_TEST_ON_EVERY_PORT(MessagesOfTest);

TEST(MessagesOfDeathTest, no_callback_for_bad_messages_is_a_mistake_before_any_comes) {
  const auto ignore = [](Connection&, const Payload&) {};
  EXPECT_DEATH(messages_of<Payload>(DelimitedCodec(), ignore, nullptr), "no callback for bad messages");
}

}  // namespace
}  // namespace peal
