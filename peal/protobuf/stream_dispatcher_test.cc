// SPDX-License-Identifier: BSD-3-Clause
// StreamDispatcher: handlers are coroutines and run one after the other. The tests cover every way in which serve()
// ends.
#include <peal/protobuf/stream_dispatcher.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <tests/protobuf/note.pb.h>
#include <tests/protobuf/protobuf_parts.h>
#include <tests/protobuf/query.pb.h>
#include <tests/support/allocated_bytes.h>
#include <tests/support/engines/co_server_rig.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using test::frame_of;
using test::kNamed;
using test::message;
using test::Note;
using test::Nothing;
using test::Payload;
using test::Query;
using test::told;
using testing::ElementsAre;
using testing::HasSubstr;

std::string note(const std::string& text) { return frame_of(message<Note>("text: '" + text + "'")); }

class StreamDispatcherTest : public test::CoServerTest {
 protected:
  void SetUp() override {
    CoServerTest::SetUp();
    make_dispatcher();
  }
  void make_dispatcher() {
    dispatcher_.emplace();
    dispatcher_->on<Note>([this](Stream& stream, const Note& one) -> Task<> {
      journal.add("begins " + one.text());
      co_await sleep(milliseconds(1));
      if (one.text() == "throw") throw std::runtime_error("a handler failed");
      if (one.text() == "close") stream.close();
      journal.add("ends " + one.text());
    });
    dispatcher_->on<Query>([](Stream& stream, Query& asked) -> Task<> { co_await stream.write(frame_of(asked)); });
  }
  RawPeer serve_one() {
    return CoServerTest::serve_one([this](Stream stream) -> Task<> {
      const Result<void> served = co_await dispatcher_->serve(stream);
      journal.add(told(served));
    });
  }
  void TearDown() override {
    server_.reset();
    dispatcher_.reset();
    CoServerTest::TearDown();
  }

  std::optional<StreamDispatcher> dispatcher_;
};

TEST_P(StreamDispatcherTest, handles_one_message_after_the_other) {
  RawPeer peer = serve_one();
  const std::string query = frame_of(message<Query>("id: 1 questioner: 'q'"));
  peer.send(note("one") + note("two") + query + note("three"));
  peer.fin();
  EXPECT_THAT(noted_lines(7),
              ElementsAre("begins one", "ends one", "begins two", "ends two", "begins three", "ends three", "done"));
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), query);
}

TEST_P(StreamDispatcherTest, holds_no_bytes_of_a_message_while_its_handler_works) {
  constexpr size_t kBytes = 12 * 1024 * 1024;
  size_t held_bytes = 0;
  size_t before = 0;
  dispatcher_->on<Payload>([&, this](Stream&, const Payload& payload) -> Task<> {
    held_bytes = test::allocated_bytes() - before;
    journal.add(std::to_string(payload.payload().size()));
    co_return;
  });
  RawPeer peer = serve_one();
  Payload large;
  large.set_payload(std::string(kBytes, 'x'));
  const std::string frame = frame_of(large);
  before = test::allocated_bytes();
  ASSERT_TRUE(send_all(peer, frame));
  ASSERT_TRUE(noted(std::to_string(kBytes)));
  // The memory holds the parsed message, but not the bytes that it was parsed from. Their blocks are free again; the
  // pool of blocks keeps at most 5 MiB of them.
  EXPECT_LT(held_bytes, kBytes + kBytes / 4 * 3);
}

TEST_P(StreamDispatcherTest, refuses_and_logs_what_it_cannot_read) {
  std::string damaged = note("damaged");
  damaged.back() = static_cast<char>(damaged.back() + 1);
  const std::vector<std::pair<std::string, Trouble>> bad = {{damaged, Trouble::kBadChecksum},
                                                            {frame_of(Payload()), Trouble::kUnknownMessageType},
                                                            {std::string(10, '\0'), Trouble::kMessageTooShort},
                                                            {std::string(10, '\xff'), Trouble::kMessageTooLong}};
  for (const auto& [bytes, why] : bad) {
    server_.reset();
    make_dispatcher();  // a new one, because one dispatcher logs at most one line a second
    journal.clear();
    log_texts.clear();
    RawPeer peer = serve_one();
    peer.send(note("one") + bytes);
    ASSERT_TRUE(ends(peer));
    const std::string error = told(make_error_code(why));
    EXPECT_THAT(noted_lines(3), ElementsAre("begins one", "ends one", error));
    EXPECT_EQ(ask([&] { return server_->stats().bad_messages; }), 1U);
    ASSERT_EQ(log_texts.lines().size(), 1U);
    EXPECT_THAT(log_texts.lines().front(), HasSubstr(make_error_code(why).message()));
  }
}

TEST_P(StreamDispatcherTest, goes_on_if_the_users_callback_ends_nothing) {
  dispatcher_->on_bad([this](Stream&, const BadMessage& bad) { journal.add("bad " + std::string(bad.type_name)); });
  RawPeer peer = serve_one();
  peer.send(frame_of(Payload()) + note("one"));
  peer.fin();
  EXPECT_THAT(noted_lines(4), ElementsAre("bad peal.test.Payload", "begins one", "ends one", "done"));
}

TEST_P(StreamDispatcherTest, fails_if_the_peer_ends_inside_a_message) {
  RawPeer peer = serve_one();
  peer.send(note("one") + note("two").substr(0, 9));
  peer.fin();
  EXPECT_THAT(noted_lines(3), ElementsAre("begins one", "ends one", told(make_error_code(Trouble::kTruncated))));
}

TEST_P(StreamDispatcherTest, ends_with_the_stream_that_a_handler_closes) {
  RawPeer peer = serve_one();
  peer.send(note("close"));
  ASSERT_TRUE(ends(peer));
  peer.close();
  EXPECT_THAT(noted_lines(3), ElementsAre("begins close", "ends close", told(ESHUTDOWN)));
}

TEST_P(StreamDispatcherTest, lets_the_exception_of_a_handler_end_the_task) {
  RawPeer peer = serve_one();
  peer.send(note("throw") + note("never"));
  ASSERT_TRUE(wait_until([&] { return !peer.pump(); }));
  EXPECT_THAT(noted_lines(1), ElementsAre("begins throw"));
  ASSERT_TRUE(wait_until([&] { return server_->tasks() == 0; }));
  EXPECT_EQ(journal.lines().size(), 1U);
}

TEST_P(StreamDispatcherTest, refuses_a_second_handler_of_a_type) {
  const auto ignore = [](Stream&, const Note&) -> Task<> { co_return; };
  EXPECT_THROW(dispatcher_->on<Note>(ignore), std::invalid_argument);
}

PEAL_TEST_ON_EVERY_PORT(StreamDispatcherTest);

TEST(StreamDispatcherDeathTest, no_callback_for_bad_messages_is_a_mistake_before_any_comes) {
  StreamDispatcher dispatcher;
  EXPECT_DEATH(dispatcher.on_bad(nullptr), "no callback for bad messages");
}

}  // namespace
}  // namespace peal
