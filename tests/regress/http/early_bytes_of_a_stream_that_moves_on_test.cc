// SPDX-License-Identifier: BSD-3-Clause
// A stream that one engine hands over to another may bring bytes that were received already. They are delivered first,
// when the new owner wants input. If the second owner passed the stream on to a third before that, the bytes stayed
// behind and were dropped. The third owner got a stream whose beginning was missing. The bytes were also lost if the
// new engine could not poll the stream (select, above FD_SETSIZE): only the error was reported.
#include <string>
#include <utility>

#include <peal/sim/sim_world.h>
#include <tests/support/engine_rig.h>
#include <tests/support/many_fds.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

class EarlyBytesMoveOn : public EngineTest {
 protected:
  LooseStream detached(StreamLog& stream) {
    stream.detach();
    EXPECT_TRUE(rig().run_until([&] { return stream.loose.has_value(); }));
    return std::move(*stream.loose);
  }
  static LooseStream with_early(LooseStream loose, std::string_view bytes) {
    if (auto foreign = loose.take_foreign()) return LooseStream(std::move(foreign), Buffer(bytes));
    return LooseStream(std::move(loose).take_fd(), Buffer(bytes));
  }
  void expect_all(StreamLog& stream, const std::string& wanted) {
    stream.receive();
    ASSERT_TRUE(rig().run_until([&] { return stream.received.size() >= wanted.size(); }));
    EXPECT_TRUE(same_bytes(stream.received, wanted));
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, EarlyBytesMoveOn, testing::ValuesIn(every_engine()), engine_label);

TEST_P(EarlyBytesMoveOn, through_owners_who_want_no_input) {
  auto [client, first] = rig().pair();
  StreamLog* owner = &rig().adopt(with_early(detached(first), "early "), "second");
  client.send("late");
  for (const char* name : {"third", "fourth"}) owner = &rig().adopt(detached(*owner), name);
  expect_all(*owner, "early late");
}

TEST_P(EarlyBytesMoveOn, after_output_that_must_be_sent_first) {
  auto [client, first] = rig().pair();
  const std::string bytes = pattern(3'000'000);
  const std::string early = pattern(100'000);
  StreamLog& second = rig().adopt(with_early(detached(first), early), "second");
  second.send_blocks(Buffer(bytes));
  second.detach();
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return second.loose.has_value(); }));
  StreamLog& third = rig().adopt(std::move(*second.loose), "third");
  client.send("late");
  expect_all(third, early + "late");
  ASSERT_TRUE(rig().run_until([&] { return client.received.size() == bytes.size(); }));
  EXPECT_TRUE(same_bytes(client.received, bytes));
}

// Bytes that one owner has received are not delivered to the next owner.
TEST_P(EarlyBytesMoveOn, only_once) {
  auto [client, first] = rig().pair();
  StreamLog& second = rig().adopt(with_early(detached(first), "early "), "second");
  second.when_received = [&] { second.detach(); };
  second.receive();
  client.send("late");
  ASSERT_TRUE(rig().run_until([&] { return second.loose.has_value(); }));
  EXPECT_EQ(second.received, "early ");
  StreamLog& third = rig().adopt(std::move(*second.loose), "third");
  expect_all(third, "late");
}

// If an owner closes the stream instead, nobody gets the bytes. No block is left behind: the fixture counts the blocks.
TEST_P(EarlyBytesMoveOn, not_to_an_owner_that_closes) {
  auto [client, first] = rig().pair();
  client.receive();
  StreamLog& second = rig().adopt(with_early(detached(first), pattern(50'000)), "second");
  second.close();
  ASSERT_TRUE(rig().run_until([&] { return second.closed && client.ended; }));
}

TEST(EarlyBytes, of_a_stream_that_cannot_be_polled_come_before_its_error) {
  test::ManyFds fds;
  if (!fds.enough) GTEST_SKIP() << "this process may not open " << test::ManyFds::kFds << " fds";
  EngineRig rig("select");
  RawPeer peer;
  Fd high(::fcntl(peer.fd(), F_DUPFD_CLOEXEC, FD_SETSIZE));
  StreamLog& adopted = rig.adopt(LooseStream(std::move(high), Buffer("early")), "adopted");
  adopted.receive();
  ASSERT_TRUE(rig.run_until([&] { return adopted.ended; }));
  EXPECT_EQ(adopted.received, "early");
  EXPECT_EQ(adopted.end_error, std::errc::too_many_files_open);
}

}  // namespace
}  // namespace peal
