// SPDX-License-Identifier: BSD-3-Clause
// Tests that every model serves correctly with each of its options, and that options that set a limit take effect.
#include <fmt/format.h>

#include <tests/support/engine_rig.h>
#include <tests/support/model_rig.h>
#include <tests/support/sanitized.h>

namespace peal::models {
namespace {

using test::model_label;
using test::ModelCase;
using test::Words;

struct Variant {
  Takes takes;
  const char* name;
  Words options;
};

std::vector<ModelCase> every_variant() {
  const std::vector<Variant> variants = {
      {Takes::kLoopAccept, "one_accept_each_time", {"--no-loop-accept"}},
      {Takes::kReadUntilEmpty, "read_until_eagain", {"--read-until-eagain"}},
      {Takes::kWriteOrder, "write_when_writable", {"--write", "epollout"}},
      {Takes::kDynamicTimeout, "dynamic_timeout", {"--dynamic-timeout"}},
      {Takes::kEventsPerWait, "one_event_a_wait", {"--events", "1"}},
      {Takes::kWorkers, "one_worker", {"--workers", "1"}},
      {Takes::kWorkers, "three_workers", {"--workers", "3"}},
      {Takes::kIoThreads, "two_io_threads", {"--io-threads", "2"}},
      {Takes::kQueueBound, "queue_of_one", {"--queue-bound", "1"}},
      {Takes::kReplyBy, "reply_by_io", {"--reply-by", "io"}},
      {Takes::kReplyBy, "reply_by_io_threads", {"--reply-by", "io", "--io-threads", "2", "--workers", "3"}},
      {Takes::kWaitForReadable, "wait_for_readable", {"--wait-for-readable"}},
      {Takes::kWaitForReadable,
       "wait_for_readable_many",
       {"--wait-for-readable", "--io-threads", "2", "--workers", "3"}},
      {Takes::kContexts, "boost", {"--contexts", "boost"}},
      {Takes::kServedPerLifetime, "immortal", {"--served-per-lifetime", "0"}},
      {Takes::kPoller, "select", {"--poller", "select"}},
      {Takes::kPoller, "poll", {"--poller", "poll"}},
      {Takes::kQueues, "one_queue", {"--queues", "one"}},
      {Takes::kQueues, "one_queue_of_three", {"--queues", "one", "--workers", "3"}},
      {Takes::kOnHandOver, "read_on_hand_over", {"--on-hand-over", "read"}},
      {Takes::kConnections, "new_connections", {"--connections", "new"}},
      {Takes::kConnections,
       "naive",
       {"--connections", "new", "--on-hand-over", "read", "--queues", "one", "--workers", "3"}},
      {Takes::kEngine, "io_uring", {"--engine", "io_uring"}},
      {Takes::kEngine, "epoll", {"--engine", "epoll"}},
      {Takes::kEngine, "poll", {"--engine", "poll"}},
      {Takes::kEngine, "select", {"--engine", "select"}},
  };
  std::vector<ModelCase> cases;
  for (const ModelEntry& model : model_table()) {
    for (const Variant& variant : variants) {
      if (includes(model.takes, variant.takes)) cases.push_back({&model, variant.name, variant.options});
    }
  }
  return cases;
}

using ModelVariants = test::ModelTest;

// Twelve clients are connected at the same time. Each sends a small frame, then a large frame in two pieces, then 30
// frames without a pause, then FIN. If the model serves many clients, one more client sends 40 large frames and does
// not read until the others have ended. Expected: the server answers every frame.
TEST_P(ModelVariants, serve_every_kind_of_client) {
  serve(patient());
  const std::string large = frame_of(pattern(200'000));
  EchoPeer* const deaf = serves_many() ? &join(32 * 1024) : nullptr;
  if (deaf != nullptr) {
    deaf->read(false);
    for (int i = 0; i < 40; ++i) deaf->ask(large);
  }
  const std::vector<EchoPeer*> peers = join_many(12);
  const auto all_ask = [&](std::string_view begin, std::string_view rest) {
    for (EchoPeer* peer : peers) peer->ask(frame_of("first") + std::string(begin));
    if (serves_many()) {
      // Each client has sent one complete frame and a part of the next frame. The server has to answer the complete
      // frame (9 bytes) before the other part is sent.
      EXPECT_TRUE(
          crowd().until([&] { return std::ranges::all_of(peers, [](auto* p) { return p->heard_bytes() >= 9; }); }));
    }
    for (EchoPeer* peer : peers) peer->ask(rest);
  };
  all_ask(std::string_view(large).substr(0, 100'000), std::string_view(large).substr(100'000));
  if (serves_many()) {
    ASSERT_TRUE(crowd().until([&] { return all_answered(peers); }));
  }
  const std::string bytes = pattern(4000);
  for (size_t i = 0; i < peers.size(); ++i) {
    for (size_t frame = 0; frame < 30; ++frame) peers[i]->ask(frame_of(bytes.substr(0, frame * i * 10)));
    peers[i]->finish();
  }
  ASSERT_TRUE(crowd().until([&] { return all_ended(peers); }));
  EXPECT_TRUE(all_answered(peers));
  if (deaf != nullptr) {
    deaf->read(true);
    ASSERT_TRUE(crowd().until([&] { return deaf->answered(); }));
    ASSERT_TRUE(leaves(*deaf));
  }
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, peers.size() + (deaf != nullptr ? 1 : 0));
  EXPECT_EQ(counted.ended, counted.accepted);
  EXPECT_EQ(counted.requests, 32 * peers.size() + (deaf != nullptr ? 40 : 0));
}

INSTANTIATE_TEST_SUITE_P(Models, ModelVariants, testing::ValuesIn(every_variant()), model_label);

using ModelsOfCoroutines = test::ModelTest;

TEST_P(ModelsOfCoroutines, let_a_connection_wait_when_all_are_taken) {
  Words options = {"--coroutines", "3"};
  for (std::string& word : one_worker()) options.push_back(std::move(word));
  serve(options);
  const std::vector<EchoPeer*> served = join_many(3);
  for (EchoPeer* peer : served) {
    ASSERT_TRUE(serves(*peer));
  }
  const std::vector<EchoPeer*> late = join_many(5);
  for (EchoPeer* peer : late) peer->ask(frame_of("serve me"));
  EXPECT_TRUE(crowd().never([&] { return std::ranges::any_of(late, &EchoPeer::answered); }));
  for (EchoPeer* peer : served) {
    ASSERT_TRUE(serves(*peer));
  }
  ASSERT_TRUE(leaves(*served.front()));
  ASSERT_TRUE(crowd().until([&] { return std::ranges::any_of(late, &EchoPeer::answered); }));
  EXPECT_EQ(std::ranges::count_if(late, &EchoPeer::answered), 1);
  for (EchoPeer* peer : late) peer->finish();
  ASSERT_TRUE(crowd().until([&] { return all_ended(late); }));
  EXPECT_TRUE(all_answered(late));
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, served.size() + late.size());
  EXPECT_EQ(counted.waited, late.size());
  EXPECT_EQ(counted.refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelsOfCoroutines,
                         testing::ValuesIn(test::cases_of(model_table(),
                                                          [](const ModelEntry& row) {
                                                            return includes(row.takes, Takes::kCoroutines);
                                                          })),
                         model_label);

using ModelsOfLifetimes = test::ModelTest;

TEST_P(ModelsOfLifetimes, keep_serving_when_a_fresh_process_takes_over) {
  serve({"--served-per-lifetime", "5"});
  constexpr size_t kClients = 23;
  for (size_t i = 0; i < kClients; ++i) {
    EchoPeer& peer = join();
    ASSERT_TRUE(serves(peer)) << i;
    ASSERT_TRUE(leaves(peer));
  }
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, kClients);
  EXPECT_EQ(counted.requests, kClients);
  EXPECT_EQ(counted.respawned, kClients / 5);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelsOfLifetimes,
                         testing::ValuesIn(test::cases_of(model_table(),
                                                          [](const ModelEntry& row) {
                                                            return includes(row.takes, Takes::kServedPerLifetime);
                                                          })),
                         model_label);

std::vector<ModelCase> those_with_select() {
  std::vector<ModelCase> cases;
  for (const ModelEntry& model : model_table()) {
    const bool poller = includes(model.takes, Takes::kPoller);
    if (poller) cases.push_back({&model, "select", {"--poller", "select"}});
    if (model.name == "reactor_select" || model.name == "trigger_select") cases.push_back({&model, "", {}});
  }
  return cases;
}

using ModelsWithSelect = test::ModelTest;

// The test connects 1100 clients. select(2) cannot wait for an fd of FD_SETSIZE (1024) or more. Expected: the server
// closes a connection if its fd is too large for select(2), and answers all other clients.
TEST_P(ModelsWithSelect, refuse_clients_that_select_cannot_wait_for) {
  serve(patient());
  may_log();
  const std::vector<EchoPeer*> peers = join_many(1100);
  for (EchoPeer* peer : peers) peer->ask(frame_of("serve me"));
  const auto done = [&] {
    return std::ranges::all_of(peers, [&](EchoPeer* peer) { return peer->answered() || peer->ended(); });
  };
  if (serves_many()) {
    ASSERT_TRUE(crowd().until(done));
  } else {
    for (EchoPeer* peer : peers) peer->finish();
    ASSERT_TRUE(crowd().until([&] { return all_ended(peers); }));
  }
  const auto served = static_cast<size_t>(std::ranges::count_if(peers, &EchoPeer::answered));
  EXPECT_GT(served, 900u);
  const Tally counted = stop();
  EXPECT_EQ(counted.requests, served);
  EXPECT_EQ(counted.refused, peers.size() - served);
  EXPECT_TRUE(!serves_many() || served < 1024u) << served;
}

INSTANTIATE_TEST_SUITE_P(Models, ModelsWithSelect, testing::ValuesIn(those_with_select()), model_label);

}  // namespace
}  // namespace peal::models
