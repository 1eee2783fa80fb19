// SPDX-License-Identifier: BSD-3-Clause
// A service owns its CoServer, and the tasks of its clients use the service: [this]. Destroyed, the server cancelled
// them and returned; they ended a turn later and said good-bye to an object that was gone (the address sanitizer saw
// it). The same held for the coroutines of an HttpServer. Now they end before the destructor returns, wherever it is
// called; and who has tasks that cannot end so soon hears of the last one by stop().
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

// What its tasks touch to the last. `tasks` outlives it: how many there are.
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
  // On the heap, where late use is seen; of several loops.
  const std::unique_ptr<std::atomic<int>> last_words_ = std::make_unique<std::atomic<int>>();
  CoServer server_;
};

class DyingService : public test::NetTest {
 protected:
  // With two clients' tasks waiting, one for input and one for its time.
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

TEST_P(DyingService, of_several_loops) {
  auto group = LoopGroup::start(2, options()).value();
  Service<LoopGroup> service(*group, tasks_);
  visit(service.listen());
  service.server().stop_and_wait();
  EXPECT_EQ(tasks_, 0);
}

// The one that destroys it is in the middle of itself; the others have ended.
TEST_P(DyingService, destroyed_by_a_task_of_its_own) {
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

TEST_P(DyingService, stop_tells_when_the_last_shielded_task_has_ended) {
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

TEST_P(DyingService, coroutines_of_an_http_server_end_before_it_too) {
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

// At any moment of its clients' coming, talking and going.
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
