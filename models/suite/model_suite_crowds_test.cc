// SPDX-License-Identifier: BSD-3-Clause
// Tests that every model serves one client, ten, and as many as it can, on short and long connections. Clients above
// its limit have to wait.
#include <fmt/format.h>

#include <tests/support/model_rig.h>

namespace peal::models {
namespace {

using test::model_label;

class ModelCrowds : public test::ModelTest {
 protected:
  // Makes each client send `rounds` requests, then FIN. A client sends its next request only after the answer to the
  // previous one. Waits until the server has ended all connections.
  testing::AssertionResult converse(const std::vector<EchoPeer*>& peers, size_t rounds) {
    std::vector<size_t> asked(peers.size(), 0);
    return crowd().until([&] {
      for (size_t i = 0; i < peers.size(); ++i) {
        if (!peers[i]->answered()) continue;
        if (asked[i] == rounds) {
          peers[i]->finish();
        } else {
          peers[i]->ask(frame_of(fmt::format("client {} asks for the time no. {}", i, asked[i]++)));
        }
      }
      return all_ended(peers);
    });
  }
};

TEST_P(ModelCrowds, one_client_then_ten_of_long_connections) {
  serve();
  uint64_t clients = 0;
  for (const size_t count : {size_t{1}, size_t{10}}) {
    clients += count;
    const std::vector<EchoPeer*> peers = join_many(count);
    ASSERT_TRUE(converse(peers, 20));
    EXPECT_TRUE(all_answered(peers));
  }
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, clients);
  EXPECT_EQ(counted.ended, clients);
  EXPECT_EQ(counted.requests, 20 * clients);
  EXPECT_EQ(counted.refused + counted.timed_out + counted.too_large + counted.respawned, 0u);
}

TEST_P(ModelCrowds, short_connections) {
  serve();
  const size_t waves = many(200) / 10;
  for (size_t wave = 0; wave < waves; ++wave) {
    const std::vector<EchoPeer*> peers = join_many(10);
    ASSERT_TRUE(converse(peers, 1));
    ASSERT_TRUE(all_answered(peers));
    for (EchoPeer* peer : peers) peer->close();
  }
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, 10 * waves);
  EXPECT_EQ(counted.ended, 10 * waves);
  EXPECT_EQ(counted.requests, 10 * waves);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelCrowds, testing::ValuesIn(test::cases_of(model_table())), model_label);

using ModelsOfMany = ModelCrowds;

TEST_P(ModelsOfMany, serve_a_thousand_clients_at_the_same_time) {
  serve();
  const std::vector<EchoPeer*> peers = join_many(many(1000));
  // All clients are connected before the first one sends a request. Expected: every client gets its answer.
  for (EchoPeer* peer : peers) peer->ask(frame_of("first"));
  ASSERT_TRUE(crowd().until([&] { return all_answered(peers); }));
  ASSERT_TRUE(converse(peers, 3));
  EXPECT_TRUE(all_answered(peers));
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, peers.size());
  EXPECT_EQ(counted.ended, peers.size());
  EXPECT_EQ(counted.requests, 4 * peers.size());
  EXPECT_EQ(counted.refused + counted.waited, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelsOfMany,
    testing::ValuesIn(test::cases_of(model_table(), [](const ModelEntry& row) { return row.serves == Serves::kMany; })),
    model_label);

using ModelsOfFew = ModelCrowds;

// Each client sends one complete frame and a part of another frame. These models close no slow client, so each served
// client occupies a thread or a process until the client leaves. Expected: a waiting client is served only after
// another client has left.
TEST_P(ModelsOfFew, let_further_clients_wait_until_a_place_is_free) {
  serve(two_workers());
  const size_t places = model().serves == Serves::kOne ? 1 : 2;
  std::vector<EchoPeer*> peers = join_many(places + 4);
  for (EchoPeer* peer : peers) {
    peer->ask(frame_of("serve me"));
    peer->say("\1");
  }
  const auto served = [&] { return static_cast<size_t>(std::ranges::count_if(peers, &EchoPeer::answered)); };
  // If each worker has its own listener, the kernel chooses a listener for each client. It may choose the same one for
  // all clients. Then one worker serves them all, one client at a time.
  const size_t at_least = model().own_listeners ? 1 : places;
  size_t gone = 0;
  for (; gone < peers.size(); ++gone) {
    const size_t now = std::min(gone + at_least, peers.size());
    ASSERT_TRUE(crowd().until([&] { return served() >= now; })) << gone << " are gone";
    if (gone == 0) {
      EXPECT_TRUE(crowd().never([&] { return served() > places; }));
    }
    ASSERT_LE(served(), gone + places);
    const auto leaver = std::ranges::find_if(peers, [](EchoPeer* peer) { return peer->answered() && !peer->ended(); });
    ASSERT_NE(leaver, peers.end());
    ASSERT_TRUE(leaves(**leaver));
  }
  EXPECT_TRUE(all_answered(peers));
  const Tally counted = stop();
  EXPECT_EQ(counted.accepted, peers.size());
  EXPECT_EQ(counted.ended, peers.size());
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelsOfFew,
    testing::ValuesIn(test::cases_of(model_table(), [](const ModelEntry& row) { return row.serves != Serves::kMany; })),
    model_label);

}  // namespace
}  // namespace peal::models
