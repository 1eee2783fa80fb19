// SPDX-License-Identifier: BSD-3-Clause
// Services of protobuf on an RpcServer: these tests check the controller, and that a service may call `done` at any
// time, on any thread.
#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <google/protobuf/stubs/callback.h>
#include <gtest/gtest.h>

#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/rpc_server_rig.h>

namespace peal {
namespace {

using google::protobuf::Closure;
using test::EchoRequest;
using test::EchoResponse;
using test::EchoService;
using test::KeepingService;
using test::RpcFrame;
using testing::ElementsAre;

class RpcServiceTest : public test::RpcServerRig {
 protected:
  // Returns a closure that adds a line to the journal and then deletes itself, as closures of protobuf do.
  Closure* noting(const std::string& line) { return google::protobuf::NewCallback(&RpcServiceTest::note, this, line); }
  static void note(RpcServiceTest* self, std::string line) { self->journal.add(std::move(line)); }
};

TEST_P(RpcServiceTest, done_is_called_at_once_or_later_in_any_order) {
  auto server = serve_kept();
  service.on_call = [](const KeepingService::Kept& call) {
    if (call.request->payload() == "at once") call.answer("at once");
  };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "first") + RpcFrame::request(2, "at once") + RpcFrame::request(3, "third"));
  std::string heard = RpcFrame::response(2, "at once");
  ASSERT_TRUE(hears_all(client, heard));
  ask([this] {
    service.calls[2].answer("third");
    service.calls[0].answer("first");
  });
  EXPECT_TRUE(hears_all(client, heard + RpcFrame::response(3, "third") + RpcFrame::response(1, "first")));
  EXPECT_EQ(echo_stats(*server).calls, 3U);
  EXPECT_EQ(echo_stats(*server).under_way, 0U);
}

TEST_P(RpcServiceTest, done_is_called_on_another_thread) {
  auto server = serve_kept();
  RawPeer client = peer();
  std::string heard;
  for (uint64_t id = 1; id <= 20; ++id) {
    client.send(RpcFrame::request(id, "x"));
    ASSERT_TRUE(keeps(id));
    const KeepingService::Kept call = ask([this] { return service.calls.back(); });
    std::jthread([call] { call.answer("y"); }).join();
    ASSERT_TRUE(hears_all(client, heard += RpcFrame::response(id, "y")));
  }
}

TEST_P(RpcServiceTest, done_inside_the_call_but_on_another_thread) {
  auto server = serve_kept();
  service.on_call = [](const KeepingService::Kept& call) { std::jthread([call] { call.answer("y"); }).join(); };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x"));
  EXPECT_TRUE(hears_all(client, RpcFrame::response(1, "y") + RpcFrame::response(2, "y")));
}

TEST_P(RpcServiceTest, failed_call_is_answered_with_an_error_and_logged) {
  auto server = serve_kept();
  service.on_call = [](const KeepingService::Kept& call) {
    call.controller->SetFailed("the disk is full");
    EXPECT_TRUE(call.controller->Failed());
    EXPECT_EQ(call.controller->ErrorText(), "the disk is full");
    call.answer("not wanted");
  };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kBadResponse)));
  EXPECT_EQ(echo_stats(*server).failed, 1U);
  EXPECT_EQ(log_texts.count("echo.EchoService.Echo has failed: the disk is full (0 more like it)"), 1U);
  // The next call reuses the same objects.
  service.on_call = [](const KeepingService::Kept& call) {
    EXPECT_FALSE(call.controller->Failed());
    EXPECT_EQ(call.controller->ErrorText(), "");
    call.answer("y");
  };
  client.send(RpcFrame::request(2, "x"));
  EXPECT_TRUE(hears_all(client, RpcFrame::error(1, RpcTrouble::kBadResponse) + RpcFrame::response(2, "y")));
}

TEST_P(RpcServiceTest, service_throws) {
  auto server = serve_kept();
  service.on_call = [](const KeepingService::Kept& call) {
    if (call.request->payload() == "before done") throw std::runtime_error("before done");
    call.answer("answered");
    throw std::runtime_error("behind done");
  };
  RawPeer client = peer();
  std::string heard = RpcFrame::error(1, RpcTrouble::kBadResponse);
  client.send(RpcFrame::request(1, "before done"));
  ASSERT_TRUE(hears_all(client, heard));
  client.send(RpcFrame::request(2, "x") + RpcFrame::request(3, "x"));
  ASSERT_TRUE(hears_all(client, heard += RpcFrame::response(2, "answered") + RpcFrame::response(3, "answered")));
  service.on_call = [](const KeepingService::Kept& call) { call.answer("well"); };
  client.send(RpcFrame::request(4, "x"));
  EXPECT_TRUE(hears_all(client, heard + RpcFrame::response(4, "well")));
  EXPECT_EQ(echo_stats(*server).threw, 3U);
  EXPECT_EQ(echo_stats(*server).failed, 1U);
  EXPECT_EQ(echo_stats(*server).under_way, 0U);
}

TEST_P(RpcServiceTest, notify_on_cancel_is_called_once_however_the_call_ends) {
  auto server = serve_kept();
  service.on_call = [this](const KeepingService::Kept& call) {
    call.controller->NotifyOnCancel(noting(call.request->payload() + " is told"));
  };
  RawPeer client = peer();
  RawPeer goes = peer();
  client.send(RpcFrame::request(1, "done") + RpcFrame::request(2, "cancelled") + RpcFrame::request(3, "late", 1));
  goes.send(RpcFrame::request(1, "gone"));
  ASSERT_TRUE(keeps(4));
  ASSERT_TRUE(noted("late is told"));
  client.send(RpcFrame::cancel(2));
  ASSERT_TRUE(noted("cancelled is told"));
  goes.reset();
  ASSERT_TRUE(noted("gone is told"));
  ask([this] {
    for (const KeepingService::Kept& call : service.calls) {
      EXPECT_EQ(call.controller->IsCanceled(), call.request->payload() != "done");
      call.answer("y");
    }
  });
  EXPECT_TRUE(hears_all(client, RpcFrame::error(3, RpcTrouble::kTimeout) + RpcFrame::response(1, "y")));
  EXPECT_THAT(journal.lines(),
              testing::UnorderedElementsAre("done is told", "cancelled is told", "late is told", "gone is told"));
}

TEST_P(RpcServiceTest, notify_on_cancel_of_a_call_that_was_cancelled_is_called_at_once) {
  auto server = serve_kept();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(keeps(1));
  client.send(RpcFrame::cancel(1));
  ASSERT_TRUE(wait_until([this] { return service.calls[0].controller->IsCanceled(); }));
  ask([this] { service.calls[0].controller->NotifyOnCancel(noting("told")); });
  EXPECT_EQ(journal.count("told"), 1U);
  ask([this] { service.calls[0].answer("y"); });
  EXPECT_EQ(journal.count("told"), 1U);
}

TEST_P(RpcServiceTest, notify_on_cancel_throws) {
  struct Throws final : Closure {
    void Run() override { throw std::runtime_error("no notice is wanted"); }
  };
  auto server = serve_kept();
  Throws throws;
  service.on_call = [&](const KeepingService::Kept& call) {
    if (call.request->payload() != "stays") call.controller->NotifyOnCancel(&throws);
  };
  RawPeer client = peer();
  RawPeer goes = peer();
  client.send(RpcFrame::request(1, "done") + RpcFrame::request(2, "given up") + RpcFrame::request(3, "stays"));
  goes.send(RpcFrame::request(1, "gone"));
  ASSERT_TRUE(keeps(4));
  goes.reset();
  client.send(RpcFrame::cancel(2));
  ASSERT_TRUE(wait_until([&] { return echo_stats(*server).cancelled == 2; }));
  ask([this] {
    std::map<std::string, KeepingService::Kept> calls;
    for (const KeepingService::Kept& call : service.calls) calls.emplace(call.request->payload(), call);
    for (const auto& [name, call] : calls) call.answer("y");
  });
  EXPECT_TRUE(hears_all(client, RpcFrame::response(1, "y") + RpcFrame::response(3, "y")));
  EXPECT_EQ(echo_stats(*server).threw, 3U);
  EXPECT_EQ(echo_stats(*server).under_way, 0U);

  client.send(RpcFrame::request(4, "left to the end of the server"));
  ASSERT_TRUE(keeps(5));
  server.reset();
  ask([this] { service.calls[4].answer("y"); });
}

// The service answers all its calls when the first of them is cancelled. The calls are cancelled because their
// connection, which was paused, has ended.
TEST_P(RpcServiceTest, all_calls_are_ended_when_one_is_cancelled) {
  struct EndsAll final : Closure {
    explicit EndsAll(KeepingService& its_service) : service(its_service) {}
    void Run() override {
      for (const KeepingService::Kept& call : std::exchange(service.calls, {})) call.answer("y");
    }
    KeepingService& service;
  };
  auto server = serve_kept({.most_calls_per_connection = 3});
  EndsAll ends_all(service);
  service.on_call = [&](const KeepingService::Kept& call) {
    if (service.calls.size() == 1) call.controller->NotifyOnCancel(&ends_all);
  };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x") + RpcFrame::request(3, "x"));
  ASSERT_TRUE(keeps(3));
  client.reset();
  EXPECT_TRUE(keeps(0));
  EXPECT_EQ(echo_stats(*server).under_way, 0U);
  EXPECT_TRUE(wait_until([&] { return server->connections() == 0; }));
}

TEST_P(RpcServiceTest, done_after_the_client_has_gone) {
  auto server = serve_kept();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(keeps(1));
  client.close();
  ASSERT_TRUE(wait_until([this] { return service.calls[0].controller->IsCanceled(); }));
  ask([this] { service.calls[0].answer("y"); });
  EXPECT_EQ(echo_stats(*server).cancelled, 1U);
  EXPECT_EQ(echo_stats(*server).under_way, 0U);
}

TEST_P(RpcServiceTest, done_after_the_server_was_destroyed) {
  for (const bool elsewhere : {false, true}) {
    service.calls.clear();
    journal.clear();
    auto server = serve_kept();
    service.on_call = [this](const KeepingService::Kept& call) { call.controller->NotifyOnCancel(noting("told")); };
    RawPeer client = peer();
    client.send(RpcFrame::request(1, "x"));
    ASSERT_TRUE(keeps(1));
    server.reset();
    EXPECT_EQ(journal.count("told"), 1U);
    EXPECT_TRUE(ends(client));
    if (elsewhere) {
      service.calls[0].answer("y");
    } else {
      ask([this] { service.calls[0].answer("y"); });
    }
    ask([] {});
    EXPECT_EQ(client.received(), "");
  }
}

// The calls are destroyed when the server was destroyed and all services have called `done`, whichever comes last.
TEST_P(RpcServiceTest, done_after_the_loop_has_ended) {
  auto server = serve_kept();
  service.on_call = [this](const KeepingService::Kept& call) { call.controller->NotifyOnCancel(noting("told")); };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x"));
  ASSERT_TRUE(keeps(2));
  end_loop();
  service.calls[0].answer("y");
  server.reset();
  std::jthread([this] { service.calls[1].answer("y"); }).join();
  EXPECT_EQ(journal.count("told"), 2U);
}

TEST_P(RpcServiceTest, done_after_the_loop_was_destroyed) {
  auto server = serve_kept();
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x") + RpcFrame::request(2, "x"));
  ASSERT_TRUE(keeps(2));
  destroy_loop();
  service.calls[0].answer("y");
  server.reset();
  service.calls[1].answer("y");
}

TEST_P(RpcServiceTest, done_destroys_the_server_in_its_notice) {
  std::unique_ptr<RpcServer> server = serve_kept();
  struct Ends final : Closure {
    explicit Ends(std::unique_ptr<RpcServer>& its_server) : ended(its_server) {}
    void Run() override { ended.reset(); }
    std::unique_ptr<RpcServer>& ended;
  };
  Ends ends_server(server);
  service.on_call = [&](const KeepingService::Kept& call) { call.controller->NotifyOnCancel(&ends_server); };
  RawPeer client = peer();
  client.send(RpcFrame::request(1, "x"));
  ASSERT_TRUE(keeps(1));
  ask([this] { service.calls[0].answer("y"); });
  EXPECT_TRUE(ends(client));
  EXPECT_EQ(server, nullptr);
}

TEST_P(RpcServiceTest, methods_are_added_once) {
  RpcServer server(loop());
  server.add(service);
  EXPECT_THROW(server.add(service), std::invalid_argument);
  KeepingService another;
  EXPECT_THROW(server.add(another), std::invalid_argument);
  const auto function = [](RpcCall&, const EchoRequest&, EchoResponse&) {};
  EXPECT_THROW(server.handle(&EchoService::Echo, function), std::invalid_argument);
  RpcServer mixed(loop());
  mixed.handle(&EchoService::Reverse, function);
  EXPECT_THROW(mixed.handle(&EchoService::Reverse, function), std::invalid_argument);
  EXPECT_THROW(mixed.add(service), std::invalid_argument);
  // The failed add() has added no method of the service.
  EXPECT_THAT(mixed.stats().methods, testing::SizeIs(1));
  mixed.handle(&EchoService::Echo, function);
}

PEAL_TEST_ON_EVERY_PORT(RpcServiceTest);

}  // namespace
}  // namespace peal
