// SPDX-License-Identifier: BSD-3-Clause
// The worst clients together, in the simulator: slow readers, resets in every state, half-closes, stalls in the midst
// of a message, pipelining without reading, floods, drips and garbage, at an echo with callbacks, an echo with
// coroutines, an HTTP server and a WebSocket chat at once, with small limits and at the soft memory mark. Beside them
// well-behaved clients must get every byte they asked for, in order, unless the world itself has cut something, or a
// cap somebody off. At the end no connection, coroutine, timer, block or fd is left, nor memory in the budget.
//
// PEAL_SOAK_SEEDS says how many (`make sim-soak`: 100,000); the test run takes some hundreds. A seed that fails is
// printed with the command that plays it alone.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/integration/sim_soak_http_clients.h>
#include <tests/support/engine_rig.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using std::chrono::seconds;
using test::GoodClient;
using test::SoakProtocol;
using test::SoakServers;
using test::SoakWorld;
using test::WorstClient;

constexpr uint64_t kSoakParts = 4;
constexpr unsigned kLongestSeedSeconds = 100;  // of hundredths: then it is a loop without end

uint64_t wanted_seeds() {
  const char* text = std::getenv("PEAL_SOAK_SEEDS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return 800;
}

struct SoakOutcome {
  std::string trouble;  // none: all went well
  uint64_t trace_hash = 0;
  NetStats net;
  HttpStats http;
  SimStats world;
  size_t served = 0;
  size_t excused = 0;
};

std::unique_ptr<GoodClient> good_client(SoakServers& servers, SoakProtocol protocol, uint8_t number) {
  if (protocol == SoakProtocol::kHttp) return std::make_unique<test::GoodHttp>(servers);
  if (protocol == SoakProtocol::kChat) return std::make_unique<test::GoodChatter>(servers, number);
  return std::make_unique<test::GoodEcho>(servers, protocol, number);
}

NetStats stats_of(SoakServers& servers) {
  NetStats stats = servers.calls.stats();
  stats += servers.tasks.stats();
  stats += servers.http.server().stats();
  return stats;
}

void judge(SoakWorld& world, SoakServers& servers, const std::vector<std::unique_ptr<GoodClient>>& good,
           SoakOutcome& outcome) {
  outcome.net = stats_of(servers);
  outcome.http = servers.http.stats();
  world.short_of_memory = outcome.net.memory_pauses + outcome.net.memory_closes > 0;
  world.capped = outcome.net.evicted + outcome.net.refused > 0;
  for (const auto& client : good) {
    client->served() ? ++outcome.served : ++outcome.excused;
    const bool excused = world.disturbed() || world.capped || client->paused_itself();
    world.check(client->served() || excused, client->complaint());
  }
  world.check(outcome.net.opened == outcome.net.closed, "opened and closed differ");
  world.check(world.at_soft_mark || !world.short_of_memory,
              "somebody was paused or closed for memory that nobody was short of");
}

void play(SoakWorld& world, SoakOutcome& outcome) {
  {
    SoakServers servers(world);
    std::vector<std::unique_ptr<WorstClient>> worst;
    std::vector<std::unique_ptr<GoodClient>> good;
    size_t left = 3 + world.pick(6);
    std::function<void()> come = [&] {
      const auto protocol = static_cast<SoakProtocol>(world.pick(4));
      if (world.pick(5) < 3) {
        worst.push_back(std::make_unique<WorstClient>(servers, protocol));
      } else {
        good.push_back(good_client(servers, protocol, static_cast<uint8_t>(good.size() % test::kMostVisitors)));
      }
      if (--left > 0) world.there->after(std::chrono::milliseconds(world.pick(40)), come);
    };
    world.there->after(std::chrono::milliseconds(1), come);
    const bool ended = world.world.run_until([&] {
      return left == 0 && std::ranges::all_of(worst, &WorstClient::over) &&
             std::ranges::all_of(good, [](const auto& client) { return client->over(); }) &&
             servers.connections() == 0 && world.coroutines == 0;
    });
    if (!ended) {
      world.check(false, fmt::format("it hangs: {} worst and {} good clients are not through, {} connections and {} "
                                     "coroutines are left",
                                     std::ranges::count(worst, false, &WorstClient::over),
                                     std::ranges::count_if(good, [](const auto& it) { return !it->over(); }),
                                     servers.connections(), world.coroutines));
    }
    judge(world, servers, good, outcome);
  }
  world.check(world.world.run_until_idle(), "something goes on without end");
  world.check(world.coroutines == 0, "a coroutine is left");
  world.check(world.here->timers_pending() + world.there->timers_pending() == 0, "a timer is left");
}

SoakOutcome play_seed(uint64_t seed) {
  BlockPool::here().trim();
  const BlockStats blocks_before = BlockPool::here().stats();
  const uint64_t held_before = MemoryBudget::held_bytes();
  const size_t fds_before = count_open_fds();
  SoakOutcome outcome;
  {
    SoakWorld world(seed);
    play(world, outcome);
    outcome.trace_hash = world.world.trace_hash();
    outcome.world = world.world.stats();
    if (!world.trouble.empty()) {
      outcome.trouble = fmt::format("{}\n{} idle closes, {} slow closes, {} memory pauses\n{}", world.trouble,
                                    outcome.net.idle_closes, outcome.net.slow_closes, outcome.net.memory_pauses,
                                    world.world.trace_tail(80));
    }
  }
  if (!outcome.trouble.empty()) return outcome;
  BlockPool::here().trim();
  const BlockStats blocks = BlockPool::here().stats();
  if (blocks.blocks_in_use != blocks_before.blocks_in_use || blocks.bytes_in_use != blocks_before.bytes_in_use) {
    outcome.trouble = fmt::format("{} blocks are left", blocks.blocks_in_use - blocks_before.blocks_in_use);
  } else if (MemoryBudget::held_bytes() != held_before) {
    outcome.trouble = fmt::format("the budget held {} bytes, and now {}", held_before, MemoryBudget::held_bytes());
  } else if (count_open_fds() != fds_before) {
    outcome.trouble = fmt::format("{} fds were open, and now {}", fds_before, count_open_fds());
  }
  return outcome;
}

// For a seed that ends the process (an assertion, a sanitizer), or never ends (the alarm).
std::string soak_hint;
void print_soak_hint(int signal_number) {
  (void)!::write(STDERR_FILENO, soak_hint.data(), soak_hint.size());
  if (signal_number == SIGALRM) ::_exit(1);
  if (signal_number == SIGSEGV) std::signal(SIGSEGV, SIG_DFL);  // the fault comes again
}

class SimSoak : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    if (std::getenv("PEAL_SIM_SEED") == nullptr) set_log_sink([](const LogRecord&) {});
    abort_before_ = std::signal(SIGABRT, print_soak_hint);
    alarm_before_ = std::signal(SIGALRM, print_soak_hint);
    if (!kSanitized) std::signal(SIGSEGV, print_soak_hint);
    play_seed(1);  // what is made once: files, tables of the parsers
  }
  void TearDown() override {
    ::alarm(0);
    std::signal(SIGABRT, abort_before_);
    std::signal(SIGALRM, alarm_before_);
    set_log_sink({});
  }
  SoakOutcome run(uint64_t seed) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    soak_hint = fmt::format("seed {} fails; to play it alone: PEAL_SIM_SEED={} {} --gtest_filter={}.{}\n", seed, seed,
                            program_invocation_name, test->test_suite_name(), test->name());
    ::alarm(kLongestSeedSeconds);
    SoakOutcome outcome = play_seed(seed);
    EXPECT_TRUE(outcome.trouble.empty()) << soak_hint << outcome.trouble;
    return outcome;
  }

 private:
  void (*abort_before_)(int) = nullptr;
  void (*alarm_before_)(int) = nullptr;
};

TEST_P(SimSoak, the_worst_clients_together_leave_nothing_and_starve_nobody) {
  const char* only = std::getenv("PEAL_SIM_SEED");
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : GetParam() + 1;
  const uint64_t last = only != nullptr ? first : wanted_seeds();
  const auto began = std::chrono::steady_clock::now();
  SoakOutcome all;
  uint64_t seeds = 0;
  for (uint64_t seed = first; seed <= last && !HasFailure(); seed += kSoakParts, ++seeds) {
    const SoakOutcome outcome = run(seed);
    all.net += outcome.net;
    all.http += outcome.http;
    all.served += outcome.served;
    all.excused += outcome.excused;
    all.world.resets += outcome.world.resets;
    all.world.vanished += outcome.world.vanished;
    all.world.no_fd += outcome.world.no_fd;
    if (seed % 25 == 1) {
      EXPECT_EQ(play_seed(seed).trace_hash, outcome.trace_hash) << soak_hint << "it went another way";
    }
  }
  fmt::print(
      "{} seeds in {:.1f} s: {} connections, {} requests; {} clients served, {} excused; cut off: {} slow, {} "
      "idle, {} evicted or refused; {} memory pauses\n",
      seeds, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), all.net.opened,
      all.http.requests, all.served, all.excused, all.net.slow_closes, all.net.idle_closes,
      all.net.evicted + all.net.refused, all.net.memory_pauses);
  if (only != nullptr || HasFailure()) return;
  EXPECT_GT(all.served, 2 * all.excused) << "too few were served for the soak to mean anything";
  if (seeds < 200) return;
  // Each part meets all that can go wrong.
  for (const uint64_t count :
       {all.net.slow_closes, all.net.evicted + all.net.refused, all.net.memory_pauses, all.http.malformed,
        all.http.abandoned, all.http.head_timeouts, all.http.answer_timeouts, all.http.upgraded}) {
    EXPECT_GT(count, 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Part, SimSoak, testing::Range(uint64_t{0}, kSoakParts));

}  // namespace
}  // namespace peal
