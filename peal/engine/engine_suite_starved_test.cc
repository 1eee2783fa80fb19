// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, out of fds: accepting closes waiting clients, pauses, counts, and recovers. It never
// spins and never ends by an error. The suite lowers this process's fd limit, so it runs only on the engines that use
// fds.
#include <algorithm>
#include <deque>

#include <tests/support/engine_rig.h>
#include <tests/support/raw_peer.h>

namespace peal {
namespace {

class EngineStarved : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Engines, EngineStarved, testing::ValuesIn(engines_with_fds()), engine_label);

TEST_P(EngineStarved, sheds_backs_off_and_recovers) {
  constexpr int kClients = 60;
  FdExhaustion famine;
  AcceptLog& acceptor = rig().listen();
  rig().settle();
  std::deque<RawPeer> clients(kClients);
  RawPeer late;
  {
    famine.fill();
    for (auto& client : clients) client.connect(acceptor.address);
    uint64_t waits_before = rig().stats().waits;
    // No client can be accepted for good, but each must see its connection end, after few waits.
    auto all_told = [&] { return std::ranges::none_of(clients, [](RawPeer& client) { return client.pump(); }); };
    TimePoint give_up = rig().engine().now() + std::chrono::seconds(10);
    while (!all_told() && rig().engine().now() < give_up) rig().wait(give_up);
    ASSERT_TRUE(all_told()) << rig().story();
    EXPECT_LE(rig().stats().waits - waits_before, 60U) << "accepting spins";
    EXPECT_EQ(acceptor.accept_count, 0U);
    EXPECT_GE(rig().stats().accepts_failed, 1U);
    EXPECT_EQ(rig().stats().accepts_shed, uint64_t{kClients});
    EXPECT_GE(rig().stats().accept_pauses, 2U);
    EXPECT_LE(rig().stats().accept_pauses, 30U);
  }
  famine.end();
  clients.clear();
  late.connect(acceptor.address);
  late.send("at last");
  ASSERT_TRUE(rig().run_until([&] { return acceptor.accept_count == 1; }));
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();
  ASSERT_TRUE(rig().run_until([&] { return server.received == "at last"; }));
}

TEST_P(EngineStarved, streams_it_has_go_on_working) {
  FdExhaustion famine;
  auto [client, server] = rig().pair();
  AcceptLog& acceptor = rig().listen();
  rig().settle();
  std::deque<RawPeer> clients(40);
  famine.fill();
  for (auto& waiting : clients) waiting.connect(acceptor.address);
  client.receive();
  server.receive();
  server.when_received = [&] { server.send("pong"); };
  for (size_t round = 1; round <= 50; ++round) {
    client.send("ping");
    ASSERT_TRUE(rig().run_until([&] { return client.received.size() == 4 * round; }));
  }
  EXPECT_EQ(acceptor.accept_count, 0U);
}

TEST_P(EngineStarved, connect_without_an_fd_is_reported_later) {
  FdExhaustion famine;
  AcceptLog& acceptor = rig().listen();
  rig().settle();
  famine.fill();
  StreamLog& client = rig().connect(acceptor.address);
  EXPECT_FALSE(client.connected);
  client.receive();
  client.send("lost");
  ASSERT_TRUE(rig().run_until([&] { return client.connected; }));
  EXPECT_EQ(client.connect_error, std::errc::too_many_files_open);
  client.close();
  ASSERT_TRUE(rig().run_until([&] { return client.closed; }));
}

TEST_P(EngineStarved, bind_without_an_fd_is_an_error) {
  FdExhaustion famine;
  famine.fill();
  EXPECT_EQ(test::error_of(rig().engine().bind(EngineRig::loopback(), {})), std::errc::too_many_files_open);
}

TEST_P(EngineStarved, stopped_while_it_backs_off) {
  FdExhaustion famine;
  AcceptLog& acceptor = rig().listen();
  rig().settle();
  std::deque<RawPeer> clients(40);
  famine.fill();
  for (auto& client : clients) client.connect(acceptor.address);
  ASSERT_TRUE(rig().run_until([&] { return rig().stats().accept_pauses > 0; }));
  ASSERT_TRUE(rig().stops(acceptor));
  for (auto& client : clients) {
    ASSERT_TRUE(rig().run_beside([&] { return !client.pump(); }));
  }
}

TEST_P(EngineStarved, opening_an_engine_without_fds_is_an_error) {
  FdExhaustion famine;
  famine.fill();
  auto made = test::make_engine(GetParam());
  if (!made) return;  // Some engines need an fd before they are opened.
  const std::error_code error = test::error_of((*made)->open());
  EXPECT_EQ(error, std::errc::too_many_files_open) << error.message();
}

}  // namespace
}  // namespace peal
