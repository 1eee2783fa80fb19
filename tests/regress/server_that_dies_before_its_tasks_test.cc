// SPDX-License-Identifier: BSD-3-Clause
// A service owned its CoServer, and the tasks of its clients used the service, by a captured `this`. When the service
// was destroyed, the destructor of the server cancelled the tasks and returned. The tasks ended a turn later and used
// the service, which was gone (the address sanitizer reported it). The coroutines of an HttpServer had the same defect.
// Now the tasks end before the destructor returns, wherever it is called. If a server's tasks cannot end so soon,
// stop() reports when the last one has ended.
#include <atomic>
#include <deque>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <peal/coro/co_server.h>
#include <peal/coro/shield.h>
#include <peal/coro/sleep.h>
#include <peal/http/server/http_server.h>
#include <tests/support/net_rig.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A service that its tasks use until they end. `tasks` counts the running tasks; it outlives the service.
template <class Where>
class Service {
 public:
  Service(Where& where, std::atomic<int>& tasks)
      : tasks_(tasks), server_(where, [this](Stream stream) { return serve(std::move(stream)); }) {}
  SocketAddress listen() { return server_.listen("127.0.0.1:0").value(); }
  CoServer& server() { return server_; }

 private:
  Task<> serve(Stream stream) {
    ++tasks_;
    static_cast<void>(co_await stream.read());
    ++*last_words_;
    static_cast<void>(co_await sleep(hours(1)));
    ++*last_words_;
    --tasks_;
  }

  std::atomic<int>& tasks_;
  // It is on the heap, so that the address sanitizer sees late use. It is atomic, because tasks of several loops use
  // it.
  const std::unique_ptr<std::atomic<int>> last_words_ = std::make_unique<std::atomic<int>>();
  CoServer server_;
};

class DyingService : public test::NetTest {
 protected:
  // Opens a service with two clients. The task of one client waits for input, the task of the other one sleeps.
  void open() {
    ask([&] { service_ = std::make_unique<Service<Loop>>(loop(), tasks_); });
    visit(service_->listen());
  }
  void visit(const SocketAddress& address) {
    for (RawPeer& peer : peers_) peer.connect(address);
    peers_[1].send("x");
    ASSERT_TRUE(wait_until([&] { return tasks_ == 2; }));
  }

  std::atomic<int> tasks_ = 0;
  std::unique_ptr<Service<Loop>> service_;
  std::array<RawPeer, 2> peers_;
};
PEAL_TEST_ON_EVERY_ENGINE(DyingService);

TEST_P(DyingService, destroyed_by_a_callback_of_its_loop) {
  open();
  ask([&] {
    service_.reset();
    EXPECT_EQ(tasks_, 0);
  });
}

TEST_P(DyingService, destroyed_by_another_thread) {
  open();
  service_.reset();
  EXPECT_EQ(tasks_, 0);
}

TEST_P(DyingService, destroyed_by_a_coroutine_of_its_loop) {
  open();
  std::optional<Scope> scope;
  const auto destroy = [&]() -> Task<> {
    static_cast<void>(co_await sleep(milliseconds(1)));
    service_.reset();
    EXPECT_EQ(tasks_, 0);
  };
  ask([&] { scope.emplace(loop()).spawn(destroy()); });
  EXPECT_TRUE(wait_until([&] { return scope->size() == 0; }));
  EXPECT_EQ(service_, nullptr);
  ask([&] { scope.reset(); });
}

TEST_P(DyingService, destroyed_after_its_loop_has_ended) {
  open();
  end_loop();
  service_.reset();
  EXPECT_EQ(tasks_, 0);
}

TEST_P(DyingService, destroyed_after_its_loop) {
  open();
  destroy_loop();
  service_.reset();
  EXPECT_EQ(tasks_, 0);
}

TEST_P(DyingService, on_several_loops_waits_for_its_tasks) {
  auto group = LoopGroup::start(2, options()).value();
  Service<LoopGroup> service(*group, tasks_);
  visit(service.listen());
  service.server().stop_and_wait();
  EXPECT_EQ(tasks_, 0);
}

// The task that destroys the server is still running, so it ends later. The other task has ended by then.
TEST_P(DyingService, destroyed_by_one_of_its_own_tasks) {
  std::unique_ptr<CoServer> server;
  const auto serve = [&](Stream stream) -> Task<> {
    ++tasks_;
    const Result<Buffer> input = co_await stream.read();
    if (input && !input->empty()) {
      server.reset();
      EXPECT_EQ(tasks_, 1);
    }
    --tasks_;
  };
  ask([&] { server = std::make_unique<CoServer>(loop(), serve); });
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  for (RawPeer& peer : peers_) peer.connect(address);
  ASSERT_TRUE(wait_until([&] { return tasks_ == 2; }));
  peers_[1].send("x");
  EXPECT_TRUE(wait_until([&] { return tasks_ == 0; }));
}

TEST_P(DyingService, stop_reports_when_the_last_shielded_task_has_ended) {
  std::atomic<int> said = 0;
  const auto say = [&]() -> Task<> {
    static_cast<void>(co_await sleep(milliseconds(2)));
    ++said;
  };
  const auto serve = [&](Stream stream) -> Task<> {
    ++tasks_;
    static_cast<void>(co_await stream.read());
    static_cast<void>(co_await sleep(hours(1)));
    co_await shield(say(), hours(1));
    --tasks_;
  };
  for (const bool waits : {false, true}) {
    said = 0;
    auto server = std::make_unique<CoServer>(loop(), serve);
    std::array<RawPeer, 2> peers;
    const SocketAddress address = server->listen("127.0.0.1:0").value();
    for (RawPeer& peer : peers) peer.connect(address);
    ASSERT_TRUE(wait_until([&] { return tasks_ == 2; }));
    if (waits) {
      server->stop_and_wait();
    } else {
      std::latch over(1);
      ask([&] {
        server->stop([&] {
          EXPECT_TRUE(loop().in_loop());
          server.reset();
          over.count_down();
        });
        EXPECT_EQ(tasks_, 2);
      });
      over.wait();
    }
    EXPECT_EQ(said, 2);
    EXPECT_TRUE(wait_until([&] { return tasks_ == 0; }));
  }
}

TEST_P(DyingService, coroutines_of_an_http_server_end_before_its_destructor_returns) {
  auto words = std::make_unique<std::string>("more than fits into the string object itself");
  Router router;
  router.get("/", [&, words = words.get()](HttpExchange&) -> Task<> {
    ++tasks_;
    static_cast<void>(co_await sleep(hours(1)));
    *words += "; good-bye";
    --tasks_;
  });
  std::unique_ptr<HttpServer> server;
  ask([&] { server = std::make_unique<HttpServer>(loop(), std::move(router)); });
  const SocketAddress address = server->listen("127.0.0.1:0").value();
  for (RawPeer& peer : peers_) {
    peer.connect(address);
    peer.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ASSERT_TRUE(wait_until([&] { return tasks_ == 2; }));
  std::optional<Scope> scope;
  const auto destroy = [&]() -> Task<> {
    static_cast<void>(co_await sleep(milliseconds(1)));
    server.reset();
    words.reset();
    EXPECT_EQ(tasks_, 0);
  };
  ask([&] { scope.emplace(loop()).spawn(destroy()); });
  EXPECT_TRUE(wait_until([&] { return scope->size() == 0; }));
  ask([&] { scope.reset(); });
}

class SimDyingService : public test::SimTest {};

// The service is destroyed at a random moment while its clients connect, send and wait.
TEST_F(SimDyingService, destroyed_at_any_moment) {
  uint64_t had_tasks = 0;
  on_seeds(300, SimOptions::hostile(), [&](test::SimPair& pair) {
    std::atomic<int> tasks = 0;
    auto service = std::make_unique<Service<Loop>>(*pair.here, tasks);
    const SocketAddress address = pair.listen(service->server());
    std::deque<Client> clients;
    for (int i = 0; i < 5; ++i) {
      clients.emplace_back(*pair.there, ConnectionCallbacks{.on_open = [i](Connection& connection) {
        if (i % 2 == 0) connection.send("x");
      }});
      ASSERT_TRUE(clients.back().connect(address));
    }
    pair.run_for(milliseconds(pair.seed % 60));
    had_tasks += tasks > 0 ? 1 : 0;
    if (pair.seed % 2 == 0) {
      service.reset();
    } else {
      pair.here->post([&] { service.reset(); });
      ASSERT_TRUE(pair.run_until([&] { return service == nullptr; }));
    }
    EXPECT_EQ(tasks, 0);
    clients.clear();
    pair.run_for(seconds(1));
  });
  if (all_seeds()) {
    EXPECT_GT(had_tasks, 100u);
  }
}

}  // namespace
}  // namespace peal
