// SPDX-License-Identifier: BSD-3-Clause
// Behaviour suite of engines, sending: output is sent completely, in order, with few system calls, and is reported.
#include <algorithm>

#include <tests/support/engine_rig.h>

namespace peal {
namespace {

class EngineSend : public EngineTest {};
PEAL_SUITE_ON_EVERY_LAYER(EngineSend);

TEST_P(EngineSend, big_transfers_both_ways_at_once) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  const std::string there = pattern(5'000'000);
  const std::string back = pattern(4'000'001);
  client.receive();
  server.receive();
  client.send_blocks(Buffer(there));
  server.send_blocks(Buffer(back));
  client.shutdown_send();
  server.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return client.ended && server.ended; }));
  EXPECT_TRUE(same_bytes(server.received, there));
  EXPECT_TRUE(same_bytes(client.received, back));
}

TEST_P(EngineSend, many_blocks_of_all_sizes_leave_in_order) {
  auto [client, server] = rig().pair();
  server.receive();
  std::string all;
  SharedBytes shared = share_bytes(pattern(70'000));
  for (size_t i = 0; i < 300; ++i) {
    std::string part = pattern(1 + i * 37 % 30'000);
    all += part;
    Buffer bytes(part);
    if (i % 50 == 7) {
      bytes.append(shared);
      all.append(reinterpret_cast<const char*>(shared->data()), shared->size());
    }
    if (i % 3 == 0) {
      client.send(bytes.view());
    } else {
      client.send_blocks(std::move(bytes));
    }
  }
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return server.ended; }));
  EXPECT_TRUE(same_bytes(server.received, all));
}

TEST_P(EngineSend, what_one_callback_sends_leaves_in_one_call) {
  auto [client, server] = rig().pair();
  client.receive();
  server.receive();
  uint64_t sends_before = 0;
  server.when_received = [&] {
    sends_before = rig().stats().sends;
    for (int i = 0; i < 100; ++i) server.send("0123456789");
    server.send_blocks(Buffer("the end"));
  };
  client.send("go");
  ASSERT_TRUE(rig().run_until([&] { return client.received.size() == 1007; }));
  EXPECT_EQ(rig().stats().sends - sends_before, 1U);
  EXPECT_EQ(client.receive_count, 1U);
}

TEST_P(EngineSend, what_is_sent_between_two_waits_leaves_in_one_call) {
  auto [client, server] = rig().pair();
  server.receive();
  uint64_t before = rig().stats().sends;
  EXPECT_EQ(client.send("12345"), 5U);
  EXPECT_EQ(client.send("67890"), 10U);
  EXPECT_EQ(client.send_blocks(Buffer("abc")), 13U);
  EXPECT_EQ(client.queued(), 13U);
  EXPECT_EQ(rig().stats().sends, before) << "a call down went to the kernel";
  ASSERT_TRUE(rig().run_until([&] { return server.received == "1234567890abc"; }));
  EXPECT_EQ(rig().stats().sends - before, 1U);
  ASSERT_TRUE(rig().run_beside([&] { return client.queued() == 0; }));
}

TEST_P(EngineSend, sending_nothing_does_nothing) {
  auto [client, server] = rig().pair();
  server.receive();
  uint64_t before = rig().stats().sends;
  EXPECT_EQ(client.send(""), 0U);
  EXPECT_EQ(client.send_blocks(Buffer()), 0U);
  rig().settle();
  EXPECT_EQ(rig().stats().sends, before);
  client.send("something");
  ASSERT_TRUE(rig().run_until([&] { return server.received == "something"; }));
}

TEST_P(EngineSend, progress_is_reported_until_the_queue_is_out) {
  auto [client, server] = rig().pair(kTightBuffers, kTightBuffers);
  server.report_sent();
  EXPECT_EQ(server.send_blocks(Buffer(pattern(3'000'000))), 3'000'000U);
  rig().settle();
  EXPECT_GT(server.queued(), 0U);
  EXPECT_LT(server.queued(), 3'000'000U);
  server.when_sent = [&] { EXPECT_EQ(server.queued(), server.sent_reports.back()); };
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.received.size() == 3'000'000; }));
  ASSERT_TRUE(rig().run_until([&] { return !server.sent_reports.empty() && server.sent_reports.back() == 0; }));
  EXPECT_EQ(server.queued(), 0U);
  EXPECT_GE(server.sent_reports.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(server.sent_reports, std::greater{}));
  EXPECT_EQ(std::ranges::count(server.sent_reports, 0U), 1);
  // After on_sent(0) nothing is reported until report_sent() is called again.
  size_t told = server.sent_reports.size();
  server.send("more");
  ASSERT_TRUE(rig().run_until([&] { return client.received.size() == 3'000'004; }));
  rig().settle();
  EXPECT_EQ(server.sent_reports.size(), told);
  server.report_sent();
  server.send("and more");
  ASSERT_TRUE(rig().run_until([&] { return server.sent_reports.size() > told; }));
  EXPECT_EQ(server.sent_reports.back(), 0U);
}

TEST_P(EngineSend, report_of_an_empty_queue_needs_no_event_from_the_kernel) {
  auto [client, server] = rig().pair();
  rig().settle();
  server.report_sent();
  EXPECT_TRUE(server.sent_reports.empty()) << "told inside the call";
  ASSERT_TRUE(rig().run_until([&] { return !server.sent_reports.empty(); }));
  EXPECT_EQ(server.sent_reports, std::vector<size_t>{0});
}

TEST_P(EngineSend, refilling_from_the_report_streams_without_end) {
  auto [client, server] = rig().pair();
  const std::string chunk = pattern(100'000);
  int left = 100;
  server.when_sent = [&] {
    if (server.sent_reports.back() != 0 || left == 0) return;
    --left;
    server.report_sent();
    server.send(chunk);
    if (left == 0) server.shutdown_send();
  };
  server.report_sent();
  server.send(chunk);
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_EQ(client.received.size(), 101 * chunk.size());
  EXPECT_EQ(client.received.substr(100 * chunk.size()), chunk);
}

TEST_P(EngineSend, fin_leaves_only_after_the_queue) {
  auto [client, server] = rig().pair();
  const std::string bytes = pattern(4'000'000);
  server.send_blocks(Buffer(bytes));
  server.shutdown_send();
  server.shutdown_send();
  size_t queued = server.queued();
  server.send("too late");
  server.send_blocks(Buffer("much too late"));
  EXPECT_EQ(server.queued(), queued);
  rig().settle();
  client.receive();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_FALSE(client.end_error);
  EXPECT_TRUE(same_bytes(client.received, bytes));
  server.send("far too late");
  rig().settle();
  EXPECT_EQ(server.send_failures, 0);
  EXPECT_EQ(client.received.size(), bytes.size());
}

TEST_P(EngineSend, fin_of_an_empty_queue_leaves_at_once) {
  auto [client, server] = rig().pair();
  client.receive();
  server.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return client.ended; }));
  EXPECT_FALSE(client.end_error);
}

TEST_P(EngineSend, sent_while_connecting_leaves_once_connected) {
  AcceptLog& acceptor = rig().listen();
  StreamLog& client = rig().connect(acceptor.address);
  client.receive();
  client.send("first thing");
  client.shutdown_send();
  ASSERT_TRUE(rig().run_until([&] { return !acceptor.accepted.empty(); }));
  StreamLog& server = rig().adopt(std::move(acceptor.accepted.front()));
  server.receive();
  server.when_ended = [&] { server.send("thanks"); };
  ASSERT_TRUE(rig().run_until([&] { return client.received == "thanks"; }));
  EXPECT_EQ(server.received, "first thing");
  EXPECT_TRUE(client.connected);
}

TEST_P(EngineSend, one_copy_of_shared_bytes_to_many) {
  SharedBytes shared = share_bytes(pattern(300'000));
  const std::string wanted(reinterpret_cast<const char*>(shared->data()), shared->size());
  std::vector<StreamLog*> clients;
  for (int i = 0; i < 10; ++i) {
    auto [client, server] = rig().pair();
    clients.push_back(&client);
    client.receive();
    Buffer bytes;
    bytes.append(shared);
    server.send_blocks(std::move(bytes));
  }
  for (StreamLog* client : clients) {
    ASSERT_TRUE(rig().run_until([&] { return client->received.size() == wanted.size(); }));
    EXPECT_TRUE(same_bytes(client->received, wanted));
  }
  rig().settle();
  EXPECT_EQ(shared.use_count(), 1) << "the engine still holds what is long gone";
}

TEST_P(EngineSend, options_can_be_set_on_a_live_stream) {
  auto [client, server] = rig().pair();
  for (auto option : {SocketOption::kNoDelay, SocketOption::kKeepAlive}) {
    EXPECT_TRUE(rig().engine().set_option(client.id, option, 1).has_value());
    EXPECT_TRUE(rig().engine().set_option(client.id, option, 0).has_value());
  }
  for (auto option : {SocketOption::kSendBuffer, SocketOption::kReceiveBuffer}) {
    EXPECT_TRUE(rig().engine().set_option(server.id, option, 65'536).has_value());
  }
}

}  // namespace
}  // namespace peal
