// SPDX-License-Identifier: BSD-3-Clause
// RpcServer: these tests check how calls end that are not answered by their handler. They are cancelled, exceed their
// deadline, or lose their client or server. Further tests check how a server drains.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/rpc_server_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using test::EchoRequest;
using test::EchoResponse;
using test::EchoService;
using test::RpcFrame;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr auto kEndless = std::chrono::hours(1);

class RpcServerEndTest : public test::RpcServerRig {
 protected:
  std::unique_ptr<RpcServer> serve_sleeping(const RpcServerOptions& options = {}) {
    return serve_calls([this](RpcServer& server) { server.handle(&EchoService::Echo, sleeping()); }, options);
  }
  testing::AssertionResult has_ended(const RpcServer& server) {
    return wait_until([&server] { return server.stats().methods.at(0).under_way == 0; });
  }
};

TEST_P(RpcServerEndTest, cancel_ends_the_call_of_its_id_and_is_not_answered) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one") + RpcFrame::request(2, "two"));
  ASSERT_TRUE(noted("two begins"));
  client.send(RpcFrame::cancel(1) + RpcFrame::request(3, "x", {}, "Reverse"));
  ASSERT_TRUE(noted(cancelled("one")));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(3, RpcTrouble::kNoMethod)));
  const MethodStats its = echo_stats(*server);
  EXPECT_EQ(its.cancelled, 1U);
  EXPECT_EQ(its.failed, 0U);
  EXPECT_EQ(its.under_way, 1U);
}

TEST_P(RpcServerEndTest, cancel_of_what_is_not_under_way_is_counted_alone) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  client.send(RpcFrame::cancel(7) + RpcFrame::request(1, "one"));
  ASSERT_TRUE(noted("one begins"));
  client.send(RpcFrame::cancel(1) + RpcFrame::cancel(1) + RpcFrame::request(3, "x", {}, "Reverse"));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(3, RpcTrouble::kNoMethod)));
  EXPECT_EQ(stats(*server).unexpected, 2U);
  EXPECT_EQ(echo_stats(*server).cancelled, 1U);
}

// A large call is not kept for reuse. It is destroyed when its handler has ended, so the server must not use it after
// that.
TEST_P(RpcServerEndTest, large_call_is_cancelled) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  ASSERT_TRUE(send_all(client, RpcFrame::request(1, std::string(100'000, 'x'))));
  ASSERT_TRUE(noted("xxxxxxxx begins"));
  client.send(RpcFrame::cancel(1));
  EXPECT_TRUE(noted(cancelled("xxxxxxxx")));
  EXPECT_TRUE(has_ended(*server));
}

TEST_P(RpcServerEndTest, large_call_is_too_late) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  ASSERT_TRUE(send_all(client, RpcFrame::request(1, std::string(100'000, 'x'), 1)));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kTimeout)));
  EXPECT_TRUE(noted("xxxxxxxx is cancelled, " + test::told(ETIMEDOUT)));
}

TEST_P(RpcServerEndTest, shorter_deadline_of_client_and_server_counts) {
  auto server = serve_sleeping({.longest_call = milliseconds(20)});
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "none"));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kTimeout)));
  client.send(RpcFrame::request(2, "long", UINT32_MAX));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kTimeout) + RpcFrame::error(2, RpcTrouble::kTimeout)));
  EXPECT_EQ(echo_stats(*server).timed_out, 2U);
  EXPECT_EQ(echo_stats(*server).failed, 2U);
  EXPECT_EQ(echo_stats(*server).cancelled, 0U);
}

TEST_P(RpcServerEndTest, deadline_of_the_client_counts_where_the_server_has_none) {
  Duration left = {};
  auto server = serve_calls(
      [&](RpcServer& its) {
        its.handle(&EchoService::Echo, sleeping());
        its.handle(&EchoService::Reverse, [&left](RpcCall& call, const EchoRequest&, EchoResponse& response) {
          left = call.time_left();
          response.set_payload("x");
        });
      },
      {.longest_call = {}});
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one", 0));
  std::string heard = RpcFrame::error(1, RpcTrouble::kTimeout);
  EXPECT_TRUE(hears_all(client, heard));
  client.send(RpcFrame::request(2, "", {}, "Reverse"));
  EXPECT_TRUE(hears_all(client, heard += RpcFrame::response(2, "x")));
  EXPECT_EQ(ask([&] { return left; }), Duration::max());
  client.send(RpcFrame::request(3, "", UINT32_MAX, "Reverse"));
  EXPECT_TRUE(hears_all(client, heard += RpcFrame::response(3, "x")));
  EXPECT_GT(ask([&] { return left; }), hours(1000));
  // A handler that is a function is called even if the deadline has passed.
  client.send(RpcFrame::request(4, "", 0, "Reverse"));
  EXPECT_TRUE(hears_all(client, heard += RpcFrame::response(4, "x")));
  EXPECT_EQ(ask([&] { return left; }), Duration::zero());
}

TEST_P(RpcServerEndTest, calls_are_cancelled_when_their_client_goes) {
  auto server = serve_sleeping();
  RawPeer fin = peer();
  RawPeer reset = peer();
  RawPeer inside = peer();
  fin.send(RpcFrame::request(1, "fin"));
  reset.send(RpcFrame::request(1, "reset"));
  inside.send(RpcFrame::request(1, "inside"));
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 3; }));
  fin.fin();
  reset.reset();
  inside.send(RpcFrame::request(2, "rest").substr(0, 9));
  inside.fin();
  EXPECT_TRUE(noted(cancelled("fin")));
  EXPECT_TRUE(noted(cancelled("reset")));
  EXPECT_TRUE(noted(cancelled("inside")));
  EXPECT_TRUE(has_ended(*server));
  EXPECT_EQ(echo_stats(*server).cancelled, 3U);
  EXPECT_EQ(echo_stats(*server).failed, 0U);
}

TEST_P(RpcServerEndTest, handler_of_a_client_that_has_gone_has_no_peer_address) {
  auto server = serve_calls([this](RpcServer& its) {
    its.handle(&EchoService::Echo, [this](RpcCall& call, const EchoRequest&, EchoResponse& response) -> Task<> {
      journal.add(call.peer_address() ? "here" : "gone");
      co_await sleep(kEndless);
      journal.add(call.peer_address() ? "here" : "gone, " + test::told(call.peer_address().error()));
      response.set_payload("late");
    });
  });
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one"));
  ASSERT_TRUE(noted("here"));
  client.close();
  EXPECT_TRUE(noted("gone, " + test::told(ENOTCONN)));
  EXPECT_TRUE(has_ended(*server));
}

TEST_P(RpcServerEndTest, drain_waits_for_calls_and_for_the_rest_of_a_request) {
  auto server = serve_kept();
  RawPeer idle = peer();
  RawPeer calling = peer();
  RawPeer half = peer();
  const std::string request = RpcFrame::request(2, "half");
  calling.send(RpcFrame::request(1, "calling"));
  ASSERT_TRUE(keeps(1));
  half.send(RpcFrame::request(1, "one") + request.substr(0, 20));
  ASSERT_TRUE(keeps(2));
  ask([this] { service.calls[1].answer("one"); });
  ASSERT_TRUE(wait_until([&] { return server->connections() == 3; }));
  const std::future<DrainReport> report = drain(server->server(), kEndless);
  EXPECT_TRUE(ends(idle));
  idle.close();
  half.send(request.substr(20));
  ASSERT_TRUE(keeps(3));
  EXPECT_FALSE(reported(report));
  ask([this] {
    for (const test::KeepingService::Kept& call : {service.calls[0], service.calls[2]}) call.answer("late");
  });
  EXPECT_TRUE(ends(calling));
  EXPECT_TRUE(ends(half));
  calling.close();
  half.close();
  EXPECT_TRUE(wait_until([&] { return reported(report); }));
  EXPECT_EQ(calling.received() + half.received().substr(half.received().size() - calling.received().size()),
            RpcFrame::response(1, "late") + RpcFrame::response(2, "late"));
}

TEST_P(RpcServerEndTest, drain_cancels_calls_at_its_deadline) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one"));
  ASSERT_TRUE(noted("one begins"));
  const DrainReport report = server->drain_and_wait(milliseconds(1));
  EXPECT_EQ(report.forced, 1U);
  EXPECT_TRUE(noted(cancelled("one")));
}

TEST_P(RpcServerEndTest, handler_drains_its_server) {
  std::unique_ptr<RpcServer> server;
  std::promise<void> drained;
  server = serve_calls([&](RpcServer& its) {
    its.handle(&EchoService::Echo, [&](RpcCall&, const EchoRequest& request, EchoResponse& response) {
      response.set_payload(request.payload());
      if (request.payload() == "last") server->drain(kEndless, [&](const DrainReport&) { drained.set_value(); });
    });
  });
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one") + RpcFrame::request(2, "last") + RpcFrame::request(3, "more"));
  EXPECT_TRUE(ends(client));
  client.close();
  EXPECT_EQ(client.received(),
            RpcFrame::response(1, "one") + RpcFrame::response(2, "last") + RpcFrame::response(3, "more"));
  drained.get_future().wait();
}

TEST_P(RpcServerEndTest, server_is_destroyed_inside_a_function) {
  std::unique_ptr<RpcServer> server;
  server = serve_calls([&](RpcServer& its) {
    its.handle(&EchoService::Reverse, sleeping());
    its.handle(&EchoService::Echo, [&](RpcCall& call, const EchoRequest&, EchoResponse& response) {
      server.reset();
      journal.add(call.method().name() + " has no server");
      response.set_payload("x");
    });
  });
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one", {}, "Reverse") + RpcFrame::request(2, "two") + RpcFrame::request(3, "three"));
  EXPECT_TRUE(ends(client));
  EXPECT_EQ(client.received(), "");
  EXPECT_THAT(noted_lines(3), ElementsAre("one begins", cancelled("one"), "Echo has no server"));
}

TEST_P(RpcServerEndTest, server_is_destroyed_inside_a_coroutine) {
  for (const bool at_once : {true, false}) {
    journal.clear();
    std::unique_ptr<RpcServer> server;
    server = serve_calls([&](RpcServer& its) {
      its.handle(&EchoService::Reverse, sleeping());
      its.handle(&EchoService::Echo, [&](RpcCall& call, const EchoRequest&, EchoResponse& response) -> Task<> {
        if (!at_once) co_await sleep(milliseconds(1));
        server.reset();
        journal.add(call.is_cancelled() ? "cancelled" : "not cancelled");
        response.set_payload("x");
        journal.add(test::told(co_await sleep(kEndless)));
      });
    });
    RawPeer client = peer();
    client.send(RpcFrame::request(1, "one", {}, "Reverse") + RpcFrame::request(2, "two"));
    EXPECT_TRUE(ends(client));
    EXPECT_EQ(client.received(), "");
    EXPECT_THAT(noted_lines(4), ElementsAre("one begins", cancelled("one"), "cancelled", test::told(ECANCELED)));
  }
}

TEST_P(RpcServerEndTest, server_is_destroyed_while_a_cancelled_handler_ends) {
  std::unique_ptr<RpcServer> server;
  const auto ends_server = [&](RpcCall&, const EchoRequest&, EchoResponse&) -> Task<> {
    journal.add("begins");
    co_await sleep(kEndless);
    server.reset();
    journal.add("ends");
  };
  const std::string request = RpcFrame::request(1, "one");
  for (const std::string& end : {RpcFrame::cancel(1) + request, std::string()}) {
    journal.clear();
    server = serve_calls([&](RpcServer& its) { its.handle(&EchoService::Echo, ends_server); });
    RawPeer client = peer();
    client.send(request);
    ASSERT_TRUE(noted("begins"));
    if (end.empty()) {
      client.reset();
    } else {
      client.send(end);
    }
    ASSERT_TRUE(noted("ends"));
  }
  // Now the call ends at its deadline.
  server = serve_calls([&](RpcServer& its) { its.handle(&EchoService::Echo, ends_server); });
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one", 1));
  EXPECT_TRUE(noted("ends", 2));
}

TEST_P(RpcServerEndTest, server_is_destroyed_while_calls_wait) {
  auto server = serve_sleeping({.most_calls_per_connection = 1});
  RawPeer client = peer();
  RawPeer other = peer();
  client.send(RpcFrame::request(1, "one") + RpcFrame::request(2, "two"));
  other.send(RpcFrame::request(1, "other"));
  ASSERT_TRUE(wait_until([&] { return journal.lines().size() == 2; }));
  server.reset();
  // The handlers must have ended when the server is destroyed.
  EXPECT_THAT(journal.lines(),
              UnorderedElementsAre("one begins", "other begins", cancelled("one"), cancelled("other")));
  EXPECT_TRUE(ends(client));
  EXPECT_TRUE(ends(other));
}

TEST_P(RpcServerEndTest, loop_ends_while_calls_wait) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one"));
  ASSERT_TRUE(noted("one begins"));
  end_loop();
  server->stats();
  server.reset();
  EXPECT_EQ(journal.lines().size(), 2U);
  EXPECT_EQ(journal.lines().back().substr(0, 18), "one is cancelled, ");
}

TEST_P(RpcServerEndTest, server_outlives_its_loop) {
  auto server = serve_sleeping();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "one"));
  ASSERT_TRUE(noted("one begins"));
  destroy_loop();
  EXPECT_EQ(journal.lines().size(), 2U);
  EXPECT_EQ(echo_stats(*server).calls, 1U);
  EXPECT_EQ(echo_stats(*server).under_way, 0U);
}

PEAL_TEST_ON_EVERY_PORT(RpcServerEndTest);

}  // namespace
}  // namespace peal
