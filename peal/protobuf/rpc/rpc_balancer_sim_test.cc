// SPDX-License-Identifier: BSD-3-Clause
// A balancer makes 10,000 calls in the simulator. Its servers stop and start, and the network resets connections, drops
// their bytes, and loses them silently. Each call must end exactly once, and no server may carry out a call twice.
#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/protobuf/rpc/rpc_balancer.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <tests/protobuf/echo.pb.h>
#include <tests/support/sim_rig.h>

namespace peal {
namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kBalancedCalls = 10'000;

// One run with three servers and a balancer.
class Unrest {
 public:
  explicit Unrest(test::SimPair& pair) : pair_(pair), random_(pair.seed), scope_(*pair.there) {
    RpcBalancerOptions options;
    options.channel.client.connect_timeout = milliseconds(500);
    options.channel.client.retry.longest_delay = milliseconds(200);
    options.channel.most_calls = 150;
    options.channel.deadline = seconds(1);
    options.most_calls = 400;
    balancer_ = std::make_unique<RpcBalancer>(*pair.there, options);
    for (size_t i = 0; i < servers_.size(); ++i) {
      come(i);
      EXPECT_TRUE(balancer_->add(addresses_[i]));
    }
  }
  ~Unrest() {
    // All coroutines must have ended.
    EXPECT_EQ(scope_.size(), 0u);
  }

  void play() {
    call_more();
    change_something();
    EXPECT_TRUE(pair_.run_until([&] { return begun_ == kBalancedCalls && balancer_->stats().under_way == 0; }));
    over_ = true;
    pair_.run_for(seconds(5));
    for (int i = 0; i < kBalancedCalls; ++i) {
      ASSERT_EQ(ended_[i], 1) << "call " << i;
      ASSERT_LE(done_[i], 1) << "call " << i << " was carried out twice";
    }
    const RpcBalancerStats stats = balancer_->stats();
    EXPECT_EQ(stats.calls, static_cast<uint64_t>(kBalancedCalls));
    EXPECT_EQ(stats.answered + stats.failed + stats.timed_out + stats.cancelled, stats.calls);
    EXPECT_EQ(stats.waiting, 0u);
    answered += stats.answered;
    timed_out += stats.timed_out;
    cancelled += stats.cancelled;
  }

  static inline uint64_t answered = 0, timed_out = 0, cancelled = 0, lost = 0, refused = 0, removed = 0;

 private:
  uint64_t random(uint64_t below) { return random_() % below; }

  void come(size_t which) {
    RpcServerOptions options;
    options.most_calls_per_connection = 100;
    servers_[which] = std::make_unique<RpcServer>(*pair_.here, options);
    servers_[which]->handle(&EchoService::Echo,
                            [this](RpcCall&, const EchoRequest& request, EchoResponse& response) -> Task<> {
                              ++done_[std::stoi(request.payload())];
                              response.set_payload(request.payload());
                              if (random(4) == 0) co_await sleep(milliseconds(random(100)));
                            });
    std::string& address = addresses_[which];
    address = pair_.listen(*servers_[which], address.empty() ? "127.0.0.1:0" : address).to_string();
  }

  // Stops or starts a random server, or removes it from the balancer, or adds it again. Repeats this after a random
  // time.
  void change_something() {
    if (over_) return;
    const size_t which = random(servers_.size());
    if (random(3) != 0) {
      if (servers_[which]) {
        servers_[which].reset();
      } else {
        come(which);
      }
    } else if (balancer_->remove(addresses_[which])) {
      ++removed;
    } else {
      EXPECT_TRUE(balancer_->add(addresses_[which]));
    }
    pair_.world.after(milliseconds(1 + random(100)), [this] { change_something(); });
  }

  void call_more() {
    for (uint64_t more = random(40); more > 0 && begun_ < kBalancedCalls; --more) call(begun_++);
    if (begun_ < kBalancedCalls) pair_.there->after(milliseconds(1 + random(10)), [this] { call_more(); });
  }
  void call(int number) {
    EchoRequest request;
    request.set_payload(std::to_string(number));
    if (random(2) == 0) {
      scope_.spawn(await(number, std::move(request)));
      return;
    }
    const RpcCallId id = balancer_->call(
        &EchoService::Echo, request, [this, number](const Result<EchoResponse>& answer) { end(number, answer); },
        milliseconds(20 + random(500)));
    if (random(20) != 0) return;
    pair_.there->after(milliseconds(random(50)), [this, number, id] {
      if (balancer_->cancel(id)) ++ended_[number];
    });
  }
  Task<> await(int number, EchoRequest request) {
    end(number, co_await balancer_->call(&EchoService::Echo, request).within(milliseconds(20 + random(500))));
  }
  void end(int number, const Result<EchoResponse>& answer) {
    ++ended_[number];
    if (answer) {
      EXPECT_EQ(answer->payload(), std::to_string(number));
      EXPECT_EQ(done_[number], 1);
    } else if (answer.error() == make_error_code(RpcTrouble::kConnectionLost)) {
      ++lost;
    } else if (answer.error() == make_error_code(RpcTrouble::kTooManyCalls)) {
      ++refused;
      EXPECT_EQ(done_[number], 0);
    } else {
      EXPECT_EQ(answer.error(), errno_code(ETIMEDOUT)) << answer.error().message();
    }
  }

  test::SimPair& pair_;
  std::mt19937_64 random_;
  std::array<std::unique_ptr<RpcServer>, 3> servers_;
  std::array<std::string, 3> addresses_;
  Scope scope_;
  std::unique_ptr<RpcBalancer> balancer_;
  std::array<int, kBalancedCalls> done_{};   // how often servers carried out each call
  std::array<int, kBalancedCalls> ended_{};  // how often each call ended
  int begun_ = 0;
  bool over_ = false;
};

class RpcBalancerSimTest : public test::SimTest {};

TEST_F(RpcBalancerSimTest, each_call_ends_once_while_servers_come_and_go) {
  on_seeds(8, SimOptions::hostile(), [](test::SimPair& pair) { std::make_unique<Unrest>(pair)->play(); });
  if (!all_seeds()) return;
  for (const uint64_t count :
       {Unrest::answered, Unrest::timed_out, Unrest::cancelled, Unrest::lost, Unrest::refused, Unrest::removed})
    EXPECT_GT(count, 10u);
}

}  // namespace
}  // namespace peal
