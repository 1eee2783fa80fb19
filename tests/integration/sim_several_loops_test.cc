// SPDX-License-Identifier: BSD-3-Clause
// Tests of servers that run on several loops in one simulated network. Their code is the same as for loops on threads.
// One server is the service of an HTTP example.
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <examples/http/shared_store.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/coro/co_server.h>
#include <peal/http/client/http_client.h>
#include <peal/loop/on_loop.h>
#include <peal/net/client.h>
#include <peal/net/server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_loop_group.h>
#include <peal/sim/simulate.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint64_t kWorlds = 50;

class SimLoopGroupTest : public testing::TestWithParam<AcceptMode> {
 protected:
  void SetUp() override {
    set_log_sink([](const LogRecord&) {});
  }
  void TearDown() override { set_log_sink({}); }
};

// A client that stores and reads keys of its own, one request after the other. When a PUT was answered, a later GET
// must return its text.
class KeyUser {
 public:
  KeyUser(SimWorld& world, Loop& loop, std::string url, size_t number)
      : world_(world), url_(std::move(url)), number_(number), client_(loop, options()) {
    loop.post([this] { next(); });
  }
  bool over() const { return asked_ == kRequests; }
  size_t answered() const { return answered_; }

 private:
  static constexpr size_t kRequests = 20;

  static HttpClientOptions options() {
    HttpClientOptions options;
    options.client.connect_timeout = seconds(2);
    options.deadlines.total = seconds(20);
    return options;
  }
  void next() {
    if (over()) return;
    const std::string key = std::to_string(number_) + "-" + std::to_string(asked_ % 5);
    const std::string text = std::to_string(asked_);
    const bool puts = asked_++ % 3 != 2;
    (void)client_.fetch(HttpClientRequest(puts ? "PUT" : "GET", url_ + key, puts ? text : std::string()),
                        [this, key, text, puts](Result<HttpResponse> answer) {
                          check(answer, key, text, puts);
                          next();
                        });
  }
  void check(const Result<HttpResponse>& answer, const std::string& key, const std::string& text, bool puts) {
    Known& known = known_[key];
    if (!answer) {
      if (puts) known.maybe.insert(text);
      return;
    }
    ++answered_;
    if (puts) {
      world_.expect(answer->status() == 204, "a PUT was not answered with 204");
      known.text = text;
    } else {
      const bool found = answer->status() == 200 && (answer->body == known.text || known.maybe.contains(answer->body));
      world_.expect(found || (answer->status() == 404 && known.text.empty()), "a GET returned a wrong text");
    }
  }

  struct Known {
    std::string text;
    // Texts whose PUT failed. The service may have stored them, or may store them later.
    std::set<std::string> maybe;
  };
  SimWorld& world_;
  const std::string url_;
  const size_t number_;
  size_t asked_ = 0;
  size_t answered_ = 0;
  std::map<std::string, Known> known_;
  HttpClient client_;
};

// Asks the service's /stats page which of the four loops have keys.
std::array<bool, 4> loops_with_keys(SimWorld& world, Loop& loop, const std::string& url) {
  std::array<bool, 4> used{};
  HttpClient client(loop);
  bool told = false;
  (void)client.fetch(HttpClientRequest("GET", url + "stats"), [&](Result<HttpResponse> answer) {
    told = true;
    if (!world.expect(answer && answer->status() == 200, "/stats did not answer with 200")) return;
    for (size_t i = 0; i < used.size(); ++i) {
      const std::string line = "loop " + std::to_string(i) + ": ";
      const size_t at = answer->body.find(line);
      used[i] = world.expect(at != std::string::npos, "/stats does not name all loops") &&
                answer->body[at + line.size()] != '0';
    }
  });
  world.expect(world.run_until([&] { return told; }), "/stats did not answer");
  return used;
}

// The service is that of an example. In the example it runs on threads; here it runs on four simulated loops.
TEST_P(SimLoopGroupTest, key_value_service_on_four_loops_bears_a_hostile_world) {
  size_t answered = 0;
  std::array<bool, 4> used{};
  const SimReport report = simulate_seeds(1, kWorlds, [&](SimWorld& world) {
    // Quoted in docs: [loops]
    SimLoopGroup group(world, 4);
    SimLoop client_loop(world);
    examples::KeyValueService service(*group, {.requests = 1000}, GetParam());
    // End of quote: [loops]
    const SimOptions faults = std::exchange(world.options(), {});
    const SocketAddress at = service.server().listen("10.0.0.1:0").value();
    world.options() = faults;
    const std::string url = "http://" + at.to_string() + "/";
    std::vector<std::unique_ptr<KeyUser>> users;
    for (size_t i = 0; i < 6; ++i) {
      users.push_back(std::make_unique<KeyUser>(world, *client_loop, url + "keys/", i));
    }
    world.expect(
        world.run_until([&] { return std::ranges::all_of(users, [](const auto& each) { return each->over(); }); }),
        "the users hang");
    world.run_for(seconds(30));
    for (const auto& user : users) answered += user->answered();
    world.options() = {};
    const std::array<bool, 4> have = loops_with_keys(world, *client_loop, url);
    for (size_t i = 0; i < have.size(); ++i) used[i] |= have[i];
  });
  EXPECT_TRUE(report) << report.text();
  EXPECT_GT(answered, kWorlds * 6 * 10);
  EXPECT_EQ(used, (std::array<bool, 4>{true, true, true, true}));
}

TEST_P(SimLoopGroupTest, connections_are_spread_over_the_loops) {
  SimWorld world(3);
  SimLoopGroup group(world, 4);
  SimLoop client_loop(world);
  std::map<const Loop*, int> where;
  SharedConnectionCallbacks callbacks;
  callbacks.on_open = [&where](Connection& connection) {
    connection.loop().assert_here();
    ++where[&connection.loop()];
  };
  Server server(*group, std::move(callbacks), {.accept = GetParam()});
  const SocketAddress at = server.listen("10.0.0.1:0").value();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(*client_loop, ConnectionCallbacks{}));
    ASSERT_TRUE(clients.back()->connect(at));
  }
  ASSERT_TRUE(world.run_until([&] { return server.connections() == 40; }));
  world.run_for(seconds(1));
  EXPECT_EQ(where.size(), 4u);
  if (GetParam() == AcceptMode::kReusePort) return;
  for (const auto& [loop, count] : where) EXPECT_EQ(count, 10);
}

TEST_P(SimLoopGroupTest, coroutines_serve_on_all_loops_and_drain) {
  SimWorld world(5);
  SimLoopGroup group(world, 3);
  SimLoop client_loop(world);
  CoServer server(*group,
                  [](Stream stream) -> Task<> {
                    while (auto input = co_await stream.read()) {
                      if (!co_await stream.write(input->view())) break;
                    }
                  },
                  {.accept = GetParam()});
  const SocketAddress at = server.listen("10.0.0.1:0").value();
  int answers = 0;
  int ended = 0;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 12; ++i) {
    ConnectionCallbacks asking;
    asking.on_open = [](Connection& connection) { connection.send("?"); };
    asking.on_message = [&](Connection&, Buffer& input) {
      input.clear();
      ++answers;
    };
    asking.on_close = [&](Connection&, CloseReason) { ++ended; };
    clients.push_back(std::make_unique<Client>(*client_loop, std::move(asking)));
    ASSERT_TRUE(clients.back()->connect(at));
  }
  ASSERT_TRUE(world.run_until([&] { return answers == 12; }));
  bool drained = false;
  server.server().drain(seconds(5), [&](const DrainReport&) { drained = true; });
  ASSERT_TRUE(world.run_until([&] { return drained && ended == 12; }));
}

INSTANTIATE_TEST_SUITE_P(Mode, SimLoopGroupTest,
                         testing::Values(AcceptMode::kReusePort, AcceptMode::kRoundRobin, AcceptMode::kLeastLoaded));

TEST(SimLoopGroup, other_loops_are_as_another_threads_inside_a_step) {
  SimWorld world(1);
  SimLoopGroup group(world, 2);
  Loop& one = (*group)[0];
  Loop& other = (*group)[1];
  std::string order;
  one.post([&] {
    EXPECT_EQ(other.mailbox()->reachable(), nullptr);
    EXPECT_EQ(one.mailbox()->reachable(), &one);
    EXPECT_FALSE(other.in_loop());
    other.run_in_loop([&] { order += "b"; });
    one.run_in_loop([&] { order += "a"; });
  });
  ASSERT_TRUE(world.run_until([&] { return order.size() == 2; }));
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(other.mailbox()->reachable(), &other);
  Loop plain;  // no thread runs it yet, so every task may use it
  one.post([&] { EXPECT_EQ(plain.mailbox()->reachable(), &plain); });
  world.run_for(seconds(1));
}

TEST(SimLoopGroupDeathTest, touching_or_awaiting_another_loop_inside_a_step_is_said) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SimWorld world(1);
  SimLoopGroup group(world, 2);
  (*group)[0].post([&] { (*group)[1].after(seconds(1), [] {}); });
  EXPECT_DEATH(world.run_for(seconds(1)), "another thread's loop is touched");
  SimWorld waiting_world(1);
  SimLoopGroup waiting(waiting_world, 2);
  (*waiting)[0].post([&] { detail::on_loop_and_wait(*(*waiting)[1].mailbox(), [](Loop&) {}); });
  EXPECT_DEATH(waiting_world.run_for(seconds(1)), "waits for another loop of its own thread");
  SimWorld stopping_world(1);
  SimLoopGroup serving(stopping_world, 2);
  SimLoop loop(stopping_world);
  Server server(*serving, SharedConnectionCallbacks{});
  CoServer co_server(*serving, [](Stream) -> Task<> { co_return; });
  auto in_a_step = [&](auto task) {
    loop->post(task);
    stopping_world.run_for(seconds(1));
  };
  EXPECT_DEATH(in_a_step([&] { server.drain_and_wait(seconds(1)); }),
               "one of the server's 2 loops and would wait for itself");
  EXPECT_DEATH(in_a_step([&] { co_server.stop_and_wait(); }), "a server waits for its tasks on their loop");
}

TEST(SimLoopGroup, stopped_group_ends_in_its_steps_or_in_join) {
  SimWorld world(1);
  SimLoopGroup group(world, 3);
  EXPECT_TRUE((*group)[0].post([&] { group->stop(); }));
  world.run_for(seconds(1));
  for (size_t i = 0; i < group->size(); ++i) EXPECT_FALSE((*group)[i].post([] {}));
  group->join();
  SimLoopGroup joined(world, 2);
  joined->stop();
  joined->join();
  joined->join();
  EXPECT_FALSE((*joined)[1].post([] {}));
}

}  // namespace
}  // namespace peal
