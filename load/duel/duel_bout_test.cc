// SPDX-License-Identifier: BSD-3-Clause
// Duels in which one contender plays at a time (DuelOptions::in_turn), against servers that the test starts.
#include <load/duel/duel_bout.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <load/duel/duel_judge.h>
#include <tests/support/duel/duelist.h>
#include <tests/support/duel/played_duel.h>
#include <tests/support/files/temporary_folder.h>

namespace peal::load {
namespace {

using std::chrono_literals::operator""ms;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

DuelOptions in_turn(std::vector<DuelContender> contenders) {
  DuelOptions options = brief_duel(std::move(contenders));
  options.in_turn = true;
  options.slice = 10ms;
  options.restarts = 2;
  options.patience.late = 40ms;
  return options;
}

// Returns how many messages a contender has exchanged in all its slices.
uint64_t messages_of(const DuelRecord& record, size_t contender) {
  uint64_t messages = 0;
  for (const SliceRecord& slice : record.slices) messages += slice.contender == contender ? slice.messages : 0;
  return messages;
}

TEST(DuelBout, one_contender_plays_all_its_rounds_before_the_next_begins) {
  const DuelRecord record = played(in_turn(with_twin({program("a", duelist()), program("b", duelist({.burn = 1ms}))})));
  EXPECT_EQ(record.restarts, 2U);
  ASSERT_EQ(record.slices.size(), 2U * 3 * 2);
  for (size_t at = 0; at < record.slices.size(); at += 2) {
    EXPECT_EQ(record.slices[at].contender, record.slices[at + 1].contender);
    EXPECT_EQ(record.slices[at].restart, at / 6);
    EXPECT_EQ(record.slices[at].round, 0U);
    EXPECT_EQ(record.slices[at + 1].round, 1U);
    EXPECT_TRUE(record.slices[at].server_switches);
  }
  for (size_t i = 0; i < 3; ++i) {
    const DuelSideRecord& side = record.sides[i];
    EXPECT_EQ(side.counts.messages, messages_of(record, i)) << "messages of the warm-up do not count";
    EXPECT_EQ(side.latency_by_restart.size(), 2U);
    EXPECT_FALSE(side.latency_by_restart[1].hdr.empty());
    EXPECT_THAT(side.rss_start_by_restart, Each(testing::Gt(1U << 20)));
    EXPECT_THAT(side.served_by_restart, ElementsAre(1U, 1U));
  }
  // Server b uses more CPU time, so the logarithm of b / a is above 0. It may be NaN: on a busy machine, a contender
  // may get no answer at all in one restart.
  EXPECT_THAT(restart_logs(record, DuelMetric::kServerCpu, 1, 0), Each(testing::Not(testing::Le(0.0))));
}

TEST(DuelBout, connections_that_wait_for_their_turn_are_no_failures) {
  DuelOptions options = in_turn({program("one", duelist({.serves_one = true})), program("all", duelist())});
  options.contenders[0].expect_queueing = true;
  options.slice = 50ms;
  options.load.connections = 3;
  const DuelRecord record = played(options);
  EXPECT_THAT(record.sides[0].served_by_restart, ElementsAre(1U, 1U));
  EXPECT_THAT(record.sides[1].served_by_restart, ElementsAre(3U, 3U));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(record.sides[i].failures.empty()) << record.sides[i].failures.kinds.begin()->second.first;
    EXPECT_GT(messages_of(record, i), 0U);
  }
  for (const SliceRecord& slice : record.slices) EXPECT_GE(slice.span, options.slice / 2) << "without a pause";
}

TEST(DuelBout, a_server_that_unexpectedly_serves_one_connection_is_at_fault) {
  DuelOptions options = in_turn({program("one", duelist({.serves_one = true})), program("all", duelist())});
  options.load.connections = 3;
  options.patience.answer = 50ms;
  const DuelRecord record = played(options);
  EXPECT_THAT(record.sides[0].fault, HasSubstr("one: not every message was answered"));
  EXPECT_EQ(messages_of(record, 0), 0U);
}

TEST(DuelBout, a_contender_that_cannot_play_is_left_out_and_the_others_continue) {
  const DuelRecord record =
      played(in_turn({program("a", duelist()), program("gone", {"/bin/false", "{port}"}), program("c", duelist())}));
  EXPECT_EQ(record.restarts, 2U);
  EXPECT_EQ(record.sides[1].fault, "gone: the server ended by itself: exit code 1");
  EXPECT_EQ(record.slices.size(), 2U * 2 * 2);
  const DuelJudgement judgement = judge_duel(record);
  ASSERT_EQ(judgement.gates.size(), 1U);
  EXPECT_TRUE(judgement.gates[0].invalid);
  EXPECT_EQ(judgement.gates[0].sentence, "gone: it was left out; gone: the server ended by itself: exit code 1");
}

TEST(DuelBout, if_no_contender_can_play_the_duel_fails) {
  const auto record = play(in_turn({program("a", {"/bin/false", "{port}"}), program("b", {"/bin/false", "{port}"})}));
  ASSERT_FALSE(record.has_value());
  EXPECT_THAT(record.error(), HasSubstr("the server ended by itself: exit code 1"));
}

TEST(DuelBout, restarts_before_every_server_failed_are_kept) {
  const test::TemporaryFolder folder;
  const auto serves_once = [&](const std::string& name) {
    std::vector<std::string> command{"/bin/sh", "-c", "mkdir \"$0\" && exec \"$@\"", folder.path(name)};
    for (std::string& word : duelist()) command.push_back(word);
    return program(name, command);
  };
  DuelOptions options = in_turn({serves_once("a"), serves_once("b")});
  options.restarts = 4;
  const DuelRecord record = played(options);
  EXPECT_EQ(record.restarts, 1U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_GT(messages_of(record, i), 0U);
    EXPECT_THAT(record.sides[i].fault, HasSubstr("the server ended by itself: exit code 1"));
  }
}

TEST(DuelBout, idle_connections_stay_open_and_send_nothing) {
  DuelOptions options = in_turn({program("a", duelist()), program("b", duelist())});
  options.load.connections = 2;
  options.load.idle_connections = 5;
  for (const bool one_at_a_time : {true, false}) {
    options.in_turn = one_at_a_time;
    const DuelRecord record = played(options);
    for (const DuelSideRecord& side : record.sides) {
      EXPECT_TRUE(side.failures.empty());
      EXPECT_THAT(side.served_by_restart, ElementsAre(2U, 2U));
    }
  }
}

}  // namespace
}  // namespace peal::load
