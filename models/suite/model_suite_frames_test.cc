// SPDX-License-Identifier: BSD-3-Clause
// Tests that every model finds the frames, however the stream is split or joined, and answers each with the same bytes.
#include <tests/support/engine_rig.h>
#include <tests/support/model_rig.h>

namespace peal::models {
namespace {

using test::model_label;

using ModelFrames = test::ModelTest;

TEST_P(ModelFrames, are_answered_when_split_at_any_byte) {
  serve();
  EchoPeer& peer = join();
  const std::string lead = frame_of("lead");
  const std::string frame = frame_of("sliced");
  // A complete frame, `lead`, and the first `at` bytes of a second frame are sent together. When the answer to `lead`
  // has arrived, the server has read these first bytes too. Only then is the rest of the second frame sent.
  for (size_t at = 0; at <= frame.size(); ++at) {
    peer.expect(lead);
    peer.say(lead + frame.substr(0, at));
    if (at == frame.size()) peer.expect(frame);
    ASSERT_TRUE(crowd().until([&] { return peer.answered(); })) << "split at " << at;
    if (at == frame.size()) break;
    peer.expect(frame);
    peer.say(frame.substr(at));
    ASSERT_TRUE(crowd().until([&] { return peer.answered(); })) << "split at " << at;
  }
  for (const char byte : frame) {
    peer.say(std::string(1, byte));
    ASSERT_TRUE(crowd().until([&] { return peer.unsent_bytes() == 0; }));
  }
  peer.expect(frame);
  ASSERT_TRUE(crowd().until([&] { return peer.answered(); }));
  ASSERT_TRUE(leaves(peer));
  EXPECT_TRUE(peer.answered());
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, 1u);
  EXPECT_EQ(counted.ended, 1u);
  EXPECT_EQ(counted.requests, 2 * (frame.size() + 1) + 1);
}

TEST_P(ModelFrames, pipelined_from_empty_to_the_largest) {
  serve();
  EchoPeer& peer = join();
  constexpr size_t kLargest = 1024 * 1024;  // the default of --max-frame
  // The sizes of the bodies. Some frames with their 4-byte header fill the server's buffer exactly (20 KiB, later 40
  // KiB). Others are one byte shorter or longer.
  const std::vector<size_t> sizes = {0,      1,        0,      0, 5,        16'384,  20'475,       20'476,
                                     20'477, 4092,     65'536, 0, 40'956,   100'000, 40'957,       3,
                                     0,      kLargest, 0,      7, kLargest, 1000,    kLargest - 1, 0};
  for (const size_t size : sizes) peer.ask(frame_of(pattern(size)));
  ASSERT_TRUE(crowd().until([&] { return peer.answered(); }));
  for (int i = 0; i < 3000; ++i) peer.ask(frame_of(""));
  ASSERT_TRUE(crowd().until([&] { return peer.answered(); }));
  peer.say(header_of(kLargest + 1));
  ASSERT_TRUE(crowd().until([&] { return peer.ended(); }));
  EXPECT_TRUE(peer.ended_in_order());
  EXPECT_TRUE(peer.answered());
  const Tally counted = stop();
  EXPECT_EQ(counted.requests, sizes.size() + 3000);
  EXPECT_EQ(counted.ended, 1u);
  EXPECT_EQ(counted.too_large, 1u);
}

TEST_P(ModelFrames, that_are_too_large_end_the_connection_after_earlier_answers) {
  serve({"--max-frame", "1000"});
  EchoPeer* const other = serves_many() ? &join() : nullptr;
  if (other != nullptr) {
    ASSERT_TRUE(serves(*other));
  }
  for (const size_t announced : {size_t{1001}, size_t{0xffffffff}}) {
    EchoPeer& peer = join();
    peer.ask(frame_of(pattern(1000)) + frame_of("") + frame_of("last"));
    peer.say(header_of(announced));
    ASSERT_TRUE(crowd().until([&] { return peer.ended(); }));
    EXPECT_TRUE(peer.ended_in_order());
    EXPECT_TRUE(peer.answered());
  }
  EchoPeer& next = join();
  EXPECT_TRUE(serves(next));
  EXPECT_TRUE(leaves(next));
  if (other != nullptr) {
    EXPECT_TRUE(serves(*other));
  }
  const Tally counted = stop();
  EXPECT_EQ(counted.too_large, 2u);
  EXPECT_EQ(counted.accepted, serves_many() ? 4u : 3u);
}

TEST_P(ModelFrames, sent_before_the_client_ended_are_answered) {
  serve();
  EchoPeer& peer = join();
  for (size_t i = 0; i < 60; ++i) peer.ask(frame_of(pattern(16'384 + i)));
  peer.say(header_of(100) + "not the whole");
  peer.finish();
  ASSERT_TRUE(crowd().until([&] { return peer.ended(); }));
  EXPECT_TRUE(peer.ended_in_order());
  EXPECT_TRUE(peer.answered());
  EchoPeer& silent = join();
  ASSERT_TRUE(leaves(silent));
  EXPECT_TRUE(silent.ended_in_order());
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, 2u);
  EXPECT_EQ(counted.ended, 2u);
  EXPECT_EQ(counted.requests, 60u);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelFrames, testing::ValuesIn(test::cases_of(model_table())), model_label);

}  // namespace
}  // namespace peal::models
