// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/codec/spare_message.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tests/protobuf/note.pb.h>

namespace peal {
namespace {

using google::protobuf::Message;
using test::Note;

Note& note_of(const SpareMessage::Use& use) { return static_cast<Note&>(*use); }

TEST(SpareMessage, is_the_same_one_each_time) {
  SpareMessage spare(Note::default_instance());
  const Message* first = nullptr;
  {
    const auto use = spare.use(10);
    first = &*use;
    note_of(use).set_text("left behind");
  }
  const auto again = spare.use(10);
  EXPECT_EQ(&*again, first);
  EXPECT_EQ(note_of(again).text(), "left behind");
}

TEST(SpareMessage, in_use_is_not_given_twice) {
  SpareMessage spare(Note::default_instance());
  const auto one = spare.use(10);
  const auto other = spare.use(10);
  EXPECT_NE(&*one, &*other);
  note_of(one).set_text("one");
  EXPECT_EQ(note_of(other).text(), "");
}

TEST(SpareMessage, of_a_large_message_is_not_kept) {
  SpareMessage spare(Note::default_instance());
  note_of(spare.use(MessageGrowth::kMostWireBytes + 1)).set_text("large");
  EXPECT_EQ(note_of(spare.use(10)).text(), "");
  note_of(spare.use(MessageGrowth::kMostWireBytes)).set_text("not so large");
  EXPECT_EQ(note_of(spare.use(10)).text(), "not so large");
}

TEST(SpareMessage, that_has_grown_is_given_up_after_a_while) {
  SpareMessage spare(Note::default_instance());
  note_of(spare.use(10)).mutable_text()->assign(MessageGrowth::kMostKeptBytes + 1, 'x');
  int uses = 0;
  while (!note_of(spare.use(10)).text().empty() && uses < 1000) ++uses;
  EXPECT_LE(uses, 64);
}

// A server keeps up to a thousand messages of a method, so a hostile message must not make each of them large for good.
TEST(SpareMessage, that_one_message_has_made_large_is_given_up_at_once) {
  Note sent;
  for (int number = 0; number < 7500; ++number) sent.add_notes();
  const std::string bytes = sent.SerializeAsString();
  ASSERT_LT(bytes.size(), MessageGrowth::kMostWireBytes);
  SpareMessage spare(Note::default_instance());
  ASSERT_TRUE((*spare.use(bytes.size())).ParseFromString(bytes));
  EXPECT_LE((*spare.use(10)).SpaceUsedLong(), MessageGrowth::kMostKeptBytes);
}

TEST(SpareMessage, does_not_add_up_what_messages_of_many_shapes_have_taken) {
  SpareMessage spare(Note::default_instance());
  for (int shape = 0; shape < 50; ++shape) {
    Note sent;
    for (int number = 0; number < shape; ++number) sent.add_notes();
    Note& last = *sent.add_notes();
    for (int number = 0; number < 7500; ++number) last.add_notes();
    const std::string bytes = sent.SerializeAsString();
    ASSERT_LT(bytes.size(), MessageGrowth::kMostWireBytes);
    ASSERT_TRUE((*spare.use(bytes.size())).ParseFromString(bytes));
  }
  // The kept message holds at most the submessages of two shapes, at about a hundred bytes each.
  EXPECT_LT((*spare.use(0)).SpaceUsedLong(), 2 * 7500 * 150U);
}

TEST(SpareMessage, of_several_threads_is_nobody_elses_while_it_is_used) {
  SpareMessage spare(Note::default_instance());
  std::atomic<int> mixed_up = 0;
  std::vector<std::jthread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&spare, &mixed_up, text = std::to_string(number)] {
      for (int round = 0; round < 2000; ++round) {
        const auto use = spare.use(10);
        note_of(use).set_text(text);
        if (note_of(use).text() != text) ++mixed_up;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(mixed_up, 0);
}

}  // namespace
}  // namespace peal
