// SPDX-License-Identifier: BSD-3-Clause
// Tests of Stream::read(framing): messages, deadlines, and every way in which messages end.
#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <peal/coro/sleep.h>
#include <peal/coro/stream.h>
#include <peal/wire/framing/delimiter_framing.h>
#include <peal/wire/framing/length_framing.h>
#include <tests/support/engines/co_server_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::told;
using testing::ElementsAre;

constexpr LengthFraming kFraming{.length_bytes = 2, .counts_itself = true, .limit_bytes = 100};

std::string framed(std::string_view body) {
  Buffer frame;
  kFraming.append(frame, body);
  return frame.to_string();
}

std::string text_of(const Result<std::optional<Buffer>>& message) {
  if (!message) return told(message.error());
  return *message ? "message " + (*message)->to_string() : "end";
}

class StreamFrameTest : public test::CoServerTest {
 protected:
  // Notes each message until there is none, then how the connection has ended.
  Task<> note_all(Stream stream) {
    for (;;) {
      const auto message = co_await stream.read(kFraming);
      journal.add(text_of(message));
      if (message && *message) continue;
      const auto next = co_await stream.read(kFraming);
      journal.add("then " + text_of(next));
      journal.add("then " + told(co_await stream.write("?")));
      co_return;
    }
  }
  uint64_t refused() {
    return ask([&] { return server_->stats().bad_messages; });
  }
};

TEST_P(StreamFrameTest, come_one_by_one_until_the_end) {
  RawPeer peer = serve_one([this](Stream stream) { return note_all(std::move(stream)); });
  const std::string bytes = framed("one") + framed("") + framed("three");
  for (const char& byte : bytes) {
    peer.send({&byte, 1});
    ask([] {});
  }
  peer.send(bytes);
  peer.fin();
  EXPECT_THAT(noted_lines(9), ElementsAre("message one", "message ", "message three", "message one", "message ",
                                          "message three", "end", "then end", "then done"));
  EXPECT_EQ(refused(), 0u);
}

TEST_P(StreamFrameTest, over_the_limit_may_still_be_answered) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    auto first = co_await stream.read(kFraming);
    journal.add(text_of(first));
    co_await stream.write("answer");
    co_await note_all(std::move(stream));
  });
  peer.send(framed("one") + std::string("\0\x67", 2));
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "answer?");
  EXPECT_EQ(peer.error(), 0) << "it ended with a reset";
  const std::string why = told(make_error_code(Trouble::kMessageTooLong));
  EXPECT_THAT(noted_lines(4), ElementsAre("message one", why, "then " + why, "then done"));
  EXPECT_EQ(refused(), 1u);
}

TEST_P(StreamFrameTest, below_its_own_size_ends_the_stream_that_is_closed) {
  RawPeer peer = serve_one([&](Stream stream) -> Task<> {
    journal.add(text_of(co_await stream.read(kFraming)));
    stream.close();
    journal.add(text_of(co_await stream.read(kFraming)));
    journal.add(told(co_await stream.write("too late")));
    while (!stream.close_reason()) co_await sleep(milliseconds(1));
    journal.add(std::string(to_string(*stream.close_reason())));
  });
  peer.send(std::string("\0\1", 2));
  ASSERT_TRUE(ends(peer));
  peer.close();
  const std::string why = told(make_error_code(Trouble::kMessageTooShort));
  EXPECT_THAT(noted_lines(4),
              ElementsAre(why, why, told(ESHUTDOWN), "the peer sent a message that breaks the protocol"));
  EXPECT_EQ(refused(), 1u);
}

TEST_P(StreamFrameTest, refusal_outlives_a_reset) {
  std::atomic<bool> told_all = false;
  RawPeer peer = serve_one([&](Stream stream) -> Task<> {
    journal.add(text_of(co_await stream.read(kFraming)));
    co_await stream.write("no");
    told_all = true;
    while (stream.is_open()) co_await sleep(milliseconds(1));
    while (!stream.close_reason()) co_await sleep(milliseconds(1));
    journal.add(std::string(to_string(*stream.close_reason())));
  });
  peer.send(std::string("\0\1", 2));
  ASSERT_TRUE(wait_until([&] { return told_all.load(); }));
  peer.reset();
  EXPECT_THAT(noted_lines(2), ElementsAre(told(make_error_code(Trouble::kMessageTooShort)),
                                          "the peer sent a message that breaks the protocol"));
  EXPECT_EQ(refused(), 1u);
}

TEST_P(StreamFrameTest, read_well_and_not_understood_may_still_be_answered) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    journal.add(text_of(co_await stream.read(kFraming)));
    stream.mark_refused(Trouble::kBadMessage);
    journal.add(told(co_await stream.write("answer")));
  });
  peer.send(framed("what is this"));
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "answer");
  peer.close();
  EXPECT_THAT(noted_lines(2), ElementsAre("message what is this", "done"));
  EXPECT_EQ(refused(), 1u);
}

TEST_P(StreamFrameTest, end_inside_a_message_is_truncation) {
  RawPeer peer = serve_one([this](Stream stream) { return note_all(std::move(stream)); });
  peer.send(framed("one") + framed("two").substr(0, 4));
  peer.fin();
  const std::string why = told(make_error_code(Trouble::kTruncated));
  EXPECT_THAT(noted_lines(4), ElementsAre("message one", why, "then " + why, "then done"));
  ASSERT_TRUE(hears_all(peer, "?"));
  EXPECT_EQ(refused(), 1u);
}

TEST_P(StreamFrameTest, reset_is_told_as_such) {
  RawPeer peer = serve_one([this](Stream stream) { return note_all(std::move(stream)); });
  peer.send(framed("one") + framed("two").substr(0, 4));
  ASSERT_TRUE(noted("message one"));
  peer.reset();
  const std::string why = told(ECONNRESET);
  EXPECT_THAT(noted_lines(4), ElementsAre("message one", why, "then " + why, "then " + why));
  EXPECT_EQ(refused(), 0u);
}

TEST_P(StreamFrameTest, deadline_loses_nothing_of_the_message) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    journal.add(text_of(co_await stream.read(kFraming).within(hours(1))));
    journal.add(text_of(co_await stream.read(kFraming).within(milliseconds(1))));
    journal.add(text_of(co_await stream.read(kFraming).within(hours(1))));
  });
  peer.send(framed("one") + framed("two").substr(0, 4));
  ASSERT_TRUE(noted(told(ETIMEDOUT)));
  peer.send(framed("two").substr(4));
  EXPECT_THAT(noted_lines(3), ElementsAre("message one", told(ETIMEDOUT), "message two"));
}

TEST_P(StreamFrameTest, framings_and_other_reads_take_turns) {
  RawPeer peer = serve_one([this](Stream stream) -> Task<> {
    const DelimiterFraming bars{.delimiter = "||", .limit_bytes = 10};
    journal.add(text_of(co_await stream.read(LineFraming{})));
    journal.add(text_of(co_await stream.read(bars)));
    journal.add(told(co_await stream.read_exactly(2)));
    journal.add(text_of(co_await stream.read(VarintFraming{.limit_bytes = 10})));
    journal.add(text_of(co_await stream.read(bars)));
  });
  const std::string_view bytes = "a line\r\nbars||ab\3one012345678901";
  for (const char& byte : bytes) {
    peer.send({&byte, 1});
    ask([] {});
  }
  EXPECT_THAT(noted_lines(5), ElementsAre("message a line", "message bars", "ab", "message one",
                                          told(make_error_code(Trouble::kMessageTooLong))));
}

// A framing of the application: a message is a digit, followed by that many bytes.
struct DigitFraming {
  FramePeek peek(std::string_view first, size_t available) const {
    if (first.empty()) return {};
    const auto body_bytes = static_cast<size_t>(first[0] - '0');
    const bool whole = available > body_bytes;
    return {.state = whole ? FrameState::kWhole : FrameState::kMore, .header_bytes = 1, .body_bytes = body_bytes};
  }
  FramePeek peek(Buffer& input) const { return peek(input.front(), input.size()); }
  void append(Buffer& output, std::string_view body) const {
    output.append(std::to_string(body.size()));
    output.append(body);
  }
};

TEST_P(StreamFrameTest, framing_may_be_the_users_own) {
  RawPeer peer = serve_one([](Stream stream) -> Task<> {
    while (auto message = co_await stream.read(DigitFraming())) {
      if (!*message) break;
      Buffer answer;
      DigitFraming().append(answer, (*message)->view());
      if (!co_await stream.write(std::move(answer))) break;
    }
  });
  peer.send("3one05three");
  EXPECT_TRUE(hears_all(peer, "3one05three"));
}

PEAL_TEST_ON_EVERY_PORT(StreamFrameTest);

}  // namespace
}  // namespace peal
