// SPDX-License-Identifier: BSD-3-Clause
// Tests requests that cost work (--work). Every model has to do the work of every request. A model with several
// computing threads works at several requests at the same time, which shows in the order of the answers.
#include <sys/resource.h>

#include <tests/support/model_rig.h>

namespace peal::models {
namespace {

using test::model_label;
using test::Words;

Duration cpu_time_of_ended_children() {
  rusage used{};
  EXPECT_EQ(::getrusage(RUSAGE_CHILDREN, &used), 0);
  return std::chrono::seconds(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         std::chrono::microseconds(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

std::string frames(size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += frame_of(std::to_string(i));
  return all;
}

using ModelWork = test::ModelTest;

TEST_P(ModelWork, is_done_for_every_request) {
  constexpr Duration kEach = std::chrono::milliseconds(2);
  for (const bool computes : {true, false}) {
    const Duration cpu_before = cpu_time_of_ended_children();
    serve({"--work", "2ms", "--work-kind", computes ? "cpu" : "sleep"});
    EchoPeer& peer = join();
    const TimePoint begin = monotonic_now();
    peer.ask(frames(10));
    ASSERT_TRUE(crowd().until([&] { return peer.answered(); }));
    EXPECT_GE(monotonic_now() - begin, 10 * kEach) << "the work of one connection's requests is done one after another";
    peer.ask(frame_of("alone"));
    ASSERT_TRUE(crowd().until([&] { return peer.answered(); }));
    ASSERT_TRUE(leaves(peer));
    EXPECT_EQ(stop().requests, 11u);
    // The acceptor of blocking_process_per_connection ignores SIGCHLD. So the kernel does not report the CPU time of
    // the acceptor's children, which do the work.
    if (computes && model().name != "blocking_process_per_connection") {
      EXPECT_GE(cpu_time_of_ended_children() - cpu_before, 11 * kEach);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelWork, testing::ValuesIn(test::cases_of(model_table())), model_label);

// works_in_turn() is true if one thread does the work of all clients. works_at_the_same_time() is true if two clients
// always get different threads or processes. For some models both are false: the kernel chooses the worker of each
// client, so two clients may get the same worker.
bool works_in_turn(const ModelEntry& row) {
  return row.serves == Serves::kOne ||
         (row.family != Family::kBlocking && row.family != Family::kHalfSync && !includes(row.takes, Takes::kWorkers));
}
bool works_at_the_same_time(const ModelEntry& row) {
  return row.family == Family::kHalfSync || row.family == Family::kMainSub || row.name == "libio_accept_thread" ||
         (row.family == Family::kBlocking && row.serves != Serves::kOne && !row.own_listeners);
}

using ModelWorkOfTwo = test::ModelTest;

// The first client sends many requests, then the second client sends only one. Expected:
// - If the model has one computing thread, the work of all requests is done one after another.
// - If it has several threads, the second client gets its answer before the first client has all answers.
TEST_P(ModelWorkOfTwo, is_done_in_turn_or_at_the_same_time) {
  const bool in_turn = works_in_turn(model());
  constexpr Duration kEach = std::chrono::milliseconds(20);
  Words options = {"--work", "20ms", "--work-kind", "sleep"};
  for (std::string& word : two_workers()) options.push_back(std::move(word));
  serve(options);
  EchoPeer& much = join();
  ASSERT_TRUE(serves(much));
  EchoPeer& little = join();
  const bool waits = model().serves == Serves::kOne;
  ASSERT_TRUE(waits || serves(little));
  TimePoint begin;
  const auto ask_both = [&](size_t requests) {
    begin = monotonic_now();
    much.ask(frames(requests));
    if (waits) much.finish();
    ASSERT_TRUE(crowd().until([&] { return much.unsent_bytes() == 0; }));
    little.ask(frame_of("only this"));
    ASSERT_TRUE(crowd().until([&] { return little.answered(); }));
  };
  constexpr size_t kFew = 5;
  constexpr size_t kMost = 400;
  size_t requests = in_turn ? kFew : 25;
  ASSERT_NO_FATAL_FAILURE(ask_both(requests));
  // On a busy machine, the first client may have all its answers before the second client gets its answer. The test is
  // then repeated with four times as many requests of the first client.
  while (!in_turn && much.answered() && requests < kMost) {
    requests *= 4;
    ASSERT_NO_FATAL_FAILURE(ask_both(requests));
  }
  if (!in_turn) {
    EXPECT_FALSE(much.answered());
  }
  ASSERT_TRUE(crowd().until([&] { return much.answered(); }));
  if (in_turn) {
    EXPECT_GE(monotonic_now() - begin, (kFew + 1) * kEach);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelWorkOfTwo,
                         testing::ValuesIn(test::cases_of(model_table(),
                                                          [](const ModelEntry& row) {
                                                            return works_in_turn(row) || works_at_the_same_time(row);
                                                          })),
                         model_label);

}  // namespace
}  // namespace peal::models
