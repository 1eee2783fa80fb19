// SPDX-License-Identifier: BSD-3-Clause
// A protocol may put a length before each message. The server then reads the length, and after it that many bytes. A
// peer that sent the length 0 stopped the process, because read_exactly(0) was treated as an error of the programmer.
// Now read_exactly(0) returns an empty buffer at once, even if the peer has sent its FIN.
#include <string>

#include <gtest/gtest.h>

#include <tests/support/engines/co_server_rig.h>

namespace peal {
namespace {

class LengthsFromAPeer : public test::CoServerTest {};

// Answers each message with the same message in angle brackets.
Task<> answer_messages(Stream stream) {
  for (;;) {
    Result<Buffer> length = co_await stream.read_exactly(1);
    if (!length || length->empty()) break;
    const Result<Buffer> message = co_await stream.read_exactly(static_cast<size_t>(length->view().front() - '0'));
    if (!message) break;
    const std::string answer = "<" + message->to_string() + ">";
    if (!co_await stream.write(answer)) break;
  }
}

TEST_P(LengthsFromAPeer, message_of_no_bytes_is_empty) {
  RawPeer peer = serve_one(answer_messages);
  peer.send("3abc01d0");
  ASSERT_TRUE(wait_until([&] {
    peer.pump();
    return peer.received() == "<abc><><d><>";
  })) << peer.received();
  peer.send("0");
  peer.fin();
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), "<abc><><d><><>");
}

// If a protocol lets the peer choose the delimiter, the peer may choose an empty one.
TEST_P(LengthsFromAPeer, delimiter_that_is_empty_is_an_error) {
  RawPeer peer = serve_one([](Stream stream) -> Task<> {
    const Result<Buffer> read = co_await stream.read_until("");
    const std::string answer = read ? "taken" : read.error().message();
    (void)co_await stream.write(answer);
  });
  peer.send("text");
  ASSERT_TRUE(ends(peer));
  EXPECT_EQ(peer.received(), errno_code(EINVAL).message());
}

PEAL_TEST_ON_EVERY_PORT(LengthsFromAPeer);

}  // namespace
}  // namespace peal
