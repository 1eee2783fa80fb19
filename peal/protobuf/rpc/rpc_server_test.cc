// SPDX-License-Identifier: BSD-3-Clause
// RpcServer: these tests check its answers to calls in any order, to frames that cannot be read, and beyond its limits.
#include <peal/protobuf/rpc/rpc_server.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/base/memory/memory_budget.h>
#include <tests/protobuf/rpc_server_rig.h>

namespace peal {
namespace {

using test::EchoRequest;
using test::EchoResponse;
using test::EchoService;
using test::KeepingService;
using test::RpcFrame;
using testing::ElementsAre;

constexpr size_t kMiB = 1024 * 1024;

class RpcServerTest : public test::RpcServerRig {
 protected:
  static void echo_payload(RpcCall&, const EchoRequest& request, EchoResponse& response) {
    response.set_payload(request.payload());
  }
  std::unique_ptr<RpcServer> serve_echo(const RpcServerOptions& options = {}) {
    return serve_calls([](RpcServer& server) { server.handle(&EchoService::Echo, echo_payload); }, options);
  }
};

// Returns a frame that calls Echo with a request of these bytes.
std::string call_of_bytes(uint64_t id, std::string_view request) {
  std::string message("\x08\x01\x11", 3);
  for (int shift = 0; shift < 64; shift += 8) message += static_cast<char>(id >> shift);
  message +=
      "\x1a\x10"
      "echo.EchoService"
      "\x22\x04"
      "Echo"
      "\x2a";
  size_t size = request.size();
  for (; size >= 0x80; size >>= 7) message += static_cast<char>((size & 0x7f) | 0x80);
  message += static_cast<char>(size);
  return RpcFrame::of(message.append(request));
}

TEST_P(RpcServerTest, calls_of_one_piece_are_answered_in_one_piece) {
  auto server = serve_echo();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "first"));
  std::string heard = RpcFrame::response(1, "first");
  ASSERT_TRUE(hears_all(client, heard));
  const uint64_t sends = ask([this] { return loop().engine().stats().sends; });
  std::string asked;
  for (uint64_t id = 2; id < 12; ++id) {
    asked += RpcFrame::request(id, std::to_string(id));
    heard += RpcFrame::response(id, std::to_string(id));
  }
  client.send(asked);
  EXPECT_TRUE(hears_all(client, heard));
  EXPECT_EQ(ask([this] { return loop().engine().stats().sends; }) - sends, 1U);
}

TEST_P(RpcServerTest, requests_are_read_however_they_are_cut) {
  auto server = serve_echo();
  const std::string asked =
      RpcFrame::request(1, "one") + RpcFrame::request(2, "", 1000) + RpcFrame::request(3, "three");
  const std::string answers = RpcFrame::response(1, "one") + RpcFrame::response(2, "") + RpcFrame::response(3, "three");
  for (size_t cut = 1; cut < asked.size(); cut += 11) {
    RawPeer client = peer();
    client.send(asked.substr(0, cut));
    ASSERT_TRUE(wait_until([&] { return client.pump(); }));
    client.send(asked.substr(cut));
    EXPECT_TRUE(hears_all(client, answers)) << "cut at " << cut;
    client.fin();
    EXPECT_TRUE(ends(client));
  }
  EXPECT_EQ(echo_stats(*server).failed, 0U);
}

TEST_P(RpcServerTest, large_messages_are_answered_both_ways) {
  auto server = serve_echo();
  RawPeer client = peer();
  const std::string text(3 * kMiB, 'x');
  ASSERT_TRUE(send_all(client, RpcFrame::request(1, text)));
  EXPECT_TRUE(hears_all(client, RpcFrame::response(1, text)));
}

TEST_P(RpcServerTest, frames_that_cannot_be_read_end_the_connection) {
  auto server = serve_echo({.limit_bytes = 1000});
  std::string damaged = RpcFrame::request(2, "x");
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  const std::vector<std::string> frames = {
      test::framed_body(test::summed("RPC1\x08\x01")),  // another tag
      damaged,                                          // the checksum
      test::with_length(7, "RPC0xxx"),                  // too short for its checksum
      test::with_length(UINT32_MAX),                    // no more bytes than the length
      test::with_length(1001),
      RpcFrame::request(2, std::string(1000, 'x')),
      RpcFrame::of(""),                                               // neither type nor id
      RpcFrame::of("\x08\x01"),                                       // no id
      RpcFrame::of(std::string("\x11xxxxxxxx", 9)),                   // no type
      RpcFrame::of(std::string("\x08\x07\x11xxxxxxxx", 11)),          // an unknown type
      RpcFrame::of(std::string("\x08\x01\x11xxxxxxxx\x1a\x7f", 13)),  // a text beyond the end
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    RawPeer client = peer();
    client.send(RpcFrame::request(1, "good") + frames[i]);
    ASSERT_TRUE(ends(client)) << i;
    EXPECT_EQ(client.received(), RpcFrame::response(1, "good")) << i;
    client.close();
  }
  EXPECT_EQ(server->server().stats().bad_messages, frames.size());
  EXPECT_EQ(echo_stats(*server).calls, frames.size());
}

TEST_P(RpcServerTest, calls_of_a_refused_connection_are_cancelled_when_it_is_over) {
  auto server = serve_calls([this](RpcServer& its) { its.handle(&EchoService::Echo, sleeping()); });
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one") + test::with_length(UINT32_MAX) + RpcFrame::request(2, "two"));
  ASSERT_TRUE(ends(client));
  client.close();
  EXPECT_TRUE(noted(cancelled("one")));
  EXPECT_THAT(journal.lines(), ElementsAre("one begins", cancelled("one")));
}

TEST_P(RpcServerTest, what_cannot_be_called_is_answered_with_an_error) {
  auto server = serve_echo();
  RawPeer client = peer();
  const std::string answer = RpcFrame::of(std::string("\x08\x02\x11xxxxxxxx", 11));
  client.send(RpcFrame::request(1, "", {}, "Echo", "echo.Nobody") + RpcFrame::request(2, "", {}, "Nothing") +
              RpcFrame::request(3, "", {}, "", "") + call_of_bytes(4, "\x0a") + call_of_bytes(5, "") + answer +
              call_of_bytes(6, std::string("\x0a\x01x", 3)));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kNoService) + RpcFrame::error(2, RpcTrouble::kNoMethod) +
                                    RpcFrame::error(3, RpcTrouble::kNoService) +
                                    RpcFrame::error(4, RpcTrouble::kBadRequest) +
                                    RpcFrame::error(5, RpcTrouble::kBadRequest) + RpcFrame::response(6, "x")));
  const RpcServerStats all = stats(*server);
  EXPECT_EQ(all.unknown, 3U);
  EXPECT_EQ(all.unexpected, 1U);
  EXPECT_EQ(all.methods.at(0).name, "echo.EchoService.Echo");
  EXPECT_EQ(all.methods.at(0).calls, 3U);
  EXPECT_EQ(all.methods.at(0).failed, 2U);
  EXPECT_EQ(all.methods.at(0).latency.total_count(), 1U);
}

TEST_P(RpcServerTest, responses_that_cannot_be_sent_are_errors) {
  auto server = serve_calls(
      [](RpcServer& its) {
        its.handle(&EchoService::Echo, [](RpcCall&, const EchoRequest& request, EchoResponse& response) {
          if (!request.payload().empty()) response.set_payload(std::string(2000, 'x'));
        });
      },
      {.limit_bytes = 1000});
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "large") + RpcFrame::request(2, ""));
  EXPECT_TRUE(
      hears_all(client, RpcFrame::error(1, RpcTrouble::kBadResponse) + RpcFrame::error(2, RpcTrouble::kBadResponse)));
  EXPECT_EQ(echo_stats(*server).failed, 2U);
  EXPECT_EQ(log_texts.lines().size(), 1U);
}

TEST_P(RpcServerTest, calls_beyond_most_calls_are_refused_until_one_ends) {
  auto server = serve_kept({.most_calls = 2});
  RawPeer client = peer();
  RawPeer other = peer();
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(keeps(1));
  other.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x"));
  ASSERT_TRUE(hears_all(other, RpcFrame::error(2, RpcTrouble::kOverloaded)));
  // A cancelled call counts as in progress until its handler has ended.
  client.send(RpcFrame::cancel(1) + RpcFrame::request(3, "x"));
  ASSERT_TRUE(hears_all(client, RpcFrame::error(3, RpcTrouble::kOverloaded)));
  ask([this] { service.calls[0].answer("y"); });
  client.send(RpcFrame::request(4, "x"));
  ASSERT_TRUE(keeps(3));
  EXPECT_EQ(stats(*server).overloaded, 2U);
  EXPECT_EQ(echo_stats(*server).calls, 3U);
  end_kept(1);
}

TEST_P(RpcServerTest, connection_is_not_read_from_while_its_calls_are_many) {
  auto server = serve_kept({.most_calls_per_connection = 2});
  RawPeer client = peer();
  std::string asked;
  std::string answers;
  for (uint64_t id = 1; id <= 9; ++id) {
    asked += RpcFrame::request(id, "x");
    answers += RpcFrame::response(id, "y");
  }
  // Other connections are read meanwhile.
  RawPeer other = peer();
  client.send(asked);
  ASSERT_TRUE(keeps(2));
  other.send(RpcFrame::request(1, "other"));
  ASSERT_TRUE(keeps(3));
  ask([this] { service.calls[2].answer("y"); });
  ASSERT_TRUE(hears_all(other, RpcFrame::response(1, "y")));
  EXPECT_EQ(echo_stats(*server).calls, 3U);
  for (size_t i : {0, 1, 3, 4, 5, 6, 7, 8, 9}) {
    ASSERT_TRUE(wait_until([&] { return service.calls.size() > i; }));
    ask([this, i] { service.calls[i].answer("y"); });
    EXPECT_LE(echo_stats(*server).under_way, 2U);
  }
  EXPECT_TRUE(hears_all(client, answers));
}

TEST_P(RpcServerTest, connection_is_not_read_from_while_its_requests_are_large) {
  auto server = serve_kept({.most_request_bytes_per_connection = 1000});
  RawPeer client = peer();
  const std::string text(600, 'x');
  client.send(RpcFrame::request(1, text) + RpcFrame::request(2, text) + RpcFrame::request(3, text));
  RawPeer other = peer();
  other.send(RpcFrame::request(1, text));
  ASSERT_TRUE(keeps(3));
  ask([this] { service.calls[0].answer("y"); });
  ASSERT_TRUE(keeps(4));
  EXPECT_EQ(service.calls[3].request->payload(), text);
  end_kept(1);
}

TEST_P(RpcServerTest, peer_that_reads_nothing_stops_its_own_calls) {
  constexpr size_t kCalls = 20'000;
  auto server = serve_calls([](RpcServer& its) {
    its.handle(&EchoService::Echo, [](RpcCall&, const EchoRequest&, EchoResponse& response) {
      response.set_payload(std::string(1000, 'x'));
    });
  });
  const uint64_t held_before = MemoryBudget::held_bytes();
  RawPeer client = peer(4096);
  std::string asked;
  for (size_t id = 0; id < kCalls; ++id) asked += RpcFrame::request(id, "x");
  std::string_view left = asked;
  // The client sends until the kernel has taken nothing 20 times in a row. Then the server has stopped reading.
  int in_vain = 0;
  ASSERT_TRUE(wait_until([&] {
    const size_t sent = client.try_send(left);
    left.remove_prefix(sent);
    in_vain = sent == 0 ? in_vain + 1 : 0;
    return in_vain == 20 || left.empty();
  }));
  EXPECT_LT(MemoryBudget::held_bytes() - held_before, 8 * kMiB);
  const size_t answers_bytes = kCalls * RpcFrame::response(1, std::string(1000, 'x')).size();
  EXPECT_TRUE(wait_until([&] {
    left.remove_prefix(client.try_send(left));
    client.pump();
    return client.received().size() == answers_bytes;
  }));
  EXPECT_EQ(echo_stats(*server).calls, kCalls);
}

// A peer may ask for large answers by requests of a few bytes.
TEST_P(RpcServerTest, answers_of_one_piece_count_towards_the_output_limit_as_they_are_made) {
  auto server = serve_calls(
      [](RpcServer& its) {
        its.handle(&EchoService::Echo, [](RpcCall&, const EchoRequest&, EchoResponse& response) {
          response.set_payload(std::string(kMiB, 'x'));
        });
      },
      {.server = {.connection = {.output_limit_bytes = 8 * kMiB}}});
  RawPeer client = peer(4096);
  std::string asked;
  for (uint64_t id = 0; id < 200; ++id) asked += RpcFrame::request(id, "");
  client.send(asked);
  EXPECT_TRUE(wait_until([&] { return server->server().stats().closed == 1; }));
  EXPECT_LT(echo_stats(*server).calls, 100U);
}

TEST_P(RpcServerTest, large_messages_are_not_kept) {
  auto server = serve_kept();
  size_t most_kept_bytes = 0;
  service.on_call = [&](const KeepingService::Kept& call) {
    most_kept_bytes = std::max(most_kept_bytes, call.response->SpaceUsedLong());
    if (call.request->payload() == "x") most_kept_bytes = std::max(most_kept_bytes, call.request->SpaceUsedLong());
    if (call.request->payload() == "wait") return;
    call.answer(std::string(kMiB, 'y'));
  };
  RawPeer client = peer();
  std::string heard;
  const auto answer = [&](uint64_t id) { return heard += RpcFrame::response(id, std::string(kMiB, 'y')); };
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(hears_all(client, answer(1)));
  client.send(RpcFrame::request(2, "x"));
  ASSERT_TRUE(hears_all(client, answer(2)));
  // The end of this large request is malformed.
  EchoRequest request;
  request.set_payload(std::string(kMiB, 'z'));
  ASSERT_TRUE(send_all(client, call_of_bytes(3, request.SerializeAsString() + "\x0a")));
  ASSERT_TRUE(hears_all(client, heard += RpcFrame::error(3, RpcTrouble::kBadRequest)));
  client.send(RpcFrame::request(4, "x"));
  ASSERT_TRUE(hears_all(client, answer(4)));
  // The client cancels this call before its large response is made.
  client.send(RpcFrame::request(5, "wait"));
  ASSERT_TRUE(keeps(4));
  client.send(RpcFrame::cancel(5));
  ASSERT_TRUE(wait_until([this] { return service.calls.back().controller->IsCanceled(); }));
  ask([this] { service.calls.back().answer(std::string(kMiB, 'y')); });
  client.send(RpcFrame::request(6, "x"));
  ASSERT_TRUE(hears_all(client, answer(6)));
  EXPECT_LT(most_kept_bytes, 64 * 1024U);
}

TEST_P(RpcServerTest, several_loops_share_the_methods_and_their_counters) {
  const Result<std::unique_ptr<LoopGroup>> group = LoopGroup::start(3, group_options());
  ASSERT_TRUE(group);
  {
    RpcServer server(**group, {.server = group_server({.accept = AcceptMode::kRoundRobin}), .most_calls = 6});
    server.handle(&EchoService::Echo, echo_payload);
    server.handle(&EchoService::Reverse, [](RpcCall&, const EchoRequest&, EchoResponse& response) -> Task<> {
      response.set_payload("reversed");
      co_await sleep(Duration(1));
    });
    const Result<SocketAddress> bound = server.listen("127.0.0.1:0");
    ASSERT_TRUE(bound);
    where = *bound;
    std::vector<RawPeer> clients;
    for (int i = 0; i < 6; ++i) clients.push_back(peer());
    for (RawPeer& client : clients) client.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x", {}, "Reverse"));
    for (RawPeer& client : clients)
      EXPECT_TRUE(hears_all(client, RpcFrame::response(1, "x") + RpcFrame::response(2, "reversed")));
    const RpcServerStats all = server.stats();
    ASSERT_EQ(all.methods.size(), 2U);
    EXPECT_EQ(all.methods[0].calls + all.methods[1].calls, 12U);
    EXPECT_EQ(all.methods[0].latency.total_count(), 6U);
    clients.clear();
    server.drain_and_wait(std::chrono::hours(1));
    EXPECT_EQ(server.connections(), 0U);
  }
}

TEST_P(RpcServerTest, options_are_checked_and_methods_are_added_before) {
  EXPECT_THROW(RpcServer(loop(), {.most_calls = 0}), std::invalid_argument);
  EXPECT_THROW(RpcServer(loop(), {.most_calls_per_connection = 0}), std::invalid_argument);
  EXPECT_THROW(RpcServer(loop(), {.most_request_bytes_per_connection = 0}), std::invalid_argument);
}

PEAL_TEST_ON_EVERY_PORT(RpcServerTest);

}  // namespace
}  // namespace peal
