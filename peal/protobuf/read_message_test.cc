// SPDX-License-Identifier: BSD-3-Clause
// read_message(): these tests check what each await returns, message by message, until the stream ends.
#include <peal/protobuf/read_message.h>

#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <peal/protobuf/codec/delimited_codec.h>
#include <peal/protobuf/codec/tagged_codec.h>
#include <peal/sync/select.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/engines/co_server_rig.h>

namespace peal {
namespace {

using google::protobuf::Message;
using std::chrono::hours;
using std::chrono::milliseconds;
using test::frame_of;
using test::kNamed;
using test::message;
using test::Note;
using test::Payload;
using test::Query;
using test::told;
using testing::ElementsAre;

std::string text_of(const Result<std::optional<Note>>& note) {
  if (!note) return told(note.error());
  return *note ? "note " + (*note)->text() : "end";
}

std::string text_of(const Result<std::unique_ptr<Message>>& read) {
  if (!read) return told(read.error());
  return *read != nullptr ? (*read)->GetDescriptor()->name() + " " + (*read)->ShortDebugString() : "end";
}

class ReadMessageTest : public test::CoServerTest {
 protected:
  // Reads notes until the stream ends or fails, and writes each to the journal.
  template <class Codec>
  Task<> note_all(Stream stream, Codec codec) {
    for (;;) {
      const Result<std::optional<Note>> note = co_await read_message<Note>(stream, codec);
      journal.add(text_of(note));
      if (!note || !*note) break;
    }
  }
};

TEST_P(ReadMessageTest, of_one_type_come_one_by_one_in_each_format) {
  for (const std::string name : {"named", "tagged", "delimited"}) {
    test::with_codec(name, "RPC0", [&, this](const auto& codec) {
      journal.clear();
      RawPeer peer = serve_one([this, codec](Stream stream) { return note_all(std::move(stream), codec); });
      const std::string bytes = framed(codec, message<Note>("text: 'one'")).to_string() +
                                framed(codec, message<Note>("")).to_string() +
                                framed(codec, message<Note>("text: 'three'")).to_string();
      for (const char& byte : bytes) {
        peer.send({&byte, 1});
        ask([] {});
      }
      peer.fin();
      EXPECT_THAT(noted_lines(4), ElementsAre("note one", "note ", "note three", "end")) << name;
    });
  }
}

TEST_P(ReadMessageTest, of_several_types_come_as_what_they_are) {
  MessageTypes types;
  types.add<Note>();
  types.add<Query>();
  RawPeer peer = serve_one([&, this](Stream stream) -> Task<> {
    for (;;) {
      const auto read = co_await read_message(stream, kNamed, types);
      journal.add(text_of(read));
      if (!read || *read == nullptr) break;
    }
  });
  peer.send(frame_of(message<Note>("text: 'one'")) + frame_of(message<Query>("id: 5 questioner: 'q'")));
  peer.send(frame_of(message<Note>("")));
  peer.fin();
  EXPECT_THAT(noted_lines(4), ElementsAre("Note text: \"one\"", "Query id: 5 questioner: \"q\"", "Note ", "end"));
}

TEST_P(ReadMessageTest, that_cannot_be_read_are_answered_and_end_the_connection) {
  std::string damaged = frame_of(message<Note>("text: 'one'"));
  damaged.back() = static_cast<char>(damaged.back() + 1);
  const std::vector<std::pair<std::string, Trouble>> bad = {
      {damaged, Trouble::kBadChecksum},
      {frame_of(message<Payload>("payload: 'x'")), Trouble::kUnknownMessageType},
      {std::string(10, '\0'), Trouble::kMessageTooShort}};
  for (const auto& [bytes, why] : bad) {
    journal.clear();
    RawPeer peer = serve_one([this](Stream stream) -> Task<> {
      MessageTypes types;
      types.add<Note>();
      journal.add(text_of(co_await read_message<Note>(stream, kNamed)));
      journal.add(text_of(co_await read_message(stream, kNamed, types)));
      journal.add("then " + told(co_await stream.write("an answer")));
    });
    peer.send(frame_of(message<Note>("text: 'first'")) + bytes);
    ASSERT_TRUE(ends(peer));
    EXPECT_EQ(peer.received(), "an answer");
    peer.close();
    EXPECT_THAT(noted_lines(3), ElementsAre("note first", told(make_error_code(why)), "then done"));
    EXPECT_EQ(ask([&] { return server_->stats().bad_messages; }), 1U);
  }
}

TEST_P(ReadMessageTest, have_a_deadline_that_loses_nothing) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    journal.add(text_of(co_await read_message<Note>(stream, kNamed).within(hours(1))));
    journal.add(text_of(co_await read_message<Note>(stream, kNamed).within(milliseconds(1))));
    journal.add(text_of(co_await read_message<Note>(stream, kNamed)));
  });
  const std::string two = frame_of(message<Note>("text: 'two'"));
  peer.send(frame_of(message<Note>("text: 'one'")) + two.substr(0, 9));
  ASSERT_TRUE(noted(told(ETIMEDOUT)));
  peer.send(two.substr(9));
  EXPECT_THAT(noted_lines(3), ElementsAre("note one", told(ETIMEDOUT), "note two"));
}

TEST_P(ReadMessageTest, may_be_selected) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    const auto chosen = co_await select(read_message<Note>(stream, kNamed), sleep(hours(1)));
    journal.add(chosen && chosen->index() == 0 ? text_of(std::get<0>(*chosen)) : "not chosen");
    const auto late = co_await select(read_message<Note>(stream, kNamed), sleep(milliseconds(1)));
    journal.add(late && late->index() == 1 ? "slept" : "not slept");
  });
  peer.send(frame_of(message<Note>("text: 'one'")));
  EXPECT_THAT(noted_lines(2), ElementsAre("note one", "slept"));
}

PEAL_TEST_ON_EVERY_PORT(ReadMessageTest);

}  // namespace
}  // namespace peal
