// SPDX-License-Identifier: BSD-3-Clause
// Many kinds of misbehaving clients use servers at the same time, in the simulator:
// - clients that read slowly, never read, reset in any state, half-close or stop in the middle of a message,
// - clients that flood, send single bytes or send garbage.
//
// There are four servers: an echo with callbacks, an echo with coroutines, an HTTP server and a WebSocket chat. Their
// limits are small. In half of the seeds, the memory budget is so small that its soft mark may be reached.
//
// Well-behaved clients must get every byte that they asked for, in order. The only exceptions are faults of the
// simulated network, limits of connections, and pauses for lack of memory. At the end no connection, coroutine, timer,
// block or fd is left, and the memory budget holds no more than before.
//
// PEAL_SOAK_SEEDS is the number of seeds; `make sim-soak` runs 100,000, the default is 800. A seed that fails is
// printed with the command that runs it alone.
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
// The time limit of one seed. A seed normally takes some hundredths of a second. One that takes this long must have an
// endless loop.
constexpr unsigned kLongestSeedSeconds = 100;

uint64_t wanted_seeds() {
  const char* text = std::getenv("PEAL_SOAK_SEEDS");
  if (text != nullptr) return std::strtoull(text, nullptr, 10);
  return 800;
}

struct SoakOutcome {
  std::string trouble;  // empty if all went well
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
    if (client->served()) {
      ++outcome.served;
    } else {
      ++outcome.excused;
    }
    const bool excused = world.disturbed() || world.capped || client->paused_itself();
    world.check(client->served() || excused, client->complaint());
  }
  world.check(outcome.net.opened == outcome.net.closed, "the servers count more connections opened than closed");
  world.check(world.at_soft_mark || !world.short_of_memory,
              "a connection was paused or closed for lack of memory, although there was enough");
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
      world.check(false,
                  fmt::format("the test hangs: {} worst and {} good clients have not ended, {} connections and {} "
                              "coroutines are left",
                              std::ranges::count(worst, false, &WorstClient::over),
                              std::ranges::count_if(good, [](const auto& it) { return !it->over(); }),
                              servers.connections(), world.coroutines));
    }
    judge(world, servers, good, outcome);
  }
  world.check(world.world.run_until_idle(), "the world does not become idle");
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

// Printed if an assertion or a sanitizer ends the process, or if a seed reaches its time limit (the alarm).
std::string soak_hint;
void print_soak_hint(int signal_number) {
  (void)!::write(STDERR_FILENO, soak_hint.data(), soak_hint.size());
  if (signal_number == SIGALRM) ::_exit(1);
  if (signal_number == SIGSEGV) std::signal(SIGSEGV, SIG_DFL);  // the fault happens again, without this handler
}

class SimSoak : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    if (std::getenv("PEAL_SIM_SEED") == nullptr) set_log_sink([](const LogRecord&) {});
    abort_before_ = std::signal(SIGABRT, print_soak_hint);
    alarm_before_ = std::signal(SIGALRM, print_soak_hint);
    if (!kSanitized) std::signal(SIGSEGV, print_soak_hint);
    // Runs one seed without checks. It makes objects that live as long as the process (files, and tables of the
    // parsers), which must not count as left behind.
    play_seed(1);
  }
  void TearDown() override {
    ::alarm(0);
    std::signal(SIGABRT, abort_before_);
    std::signal(SIGALRM, alarm_before_);
    set_log_sink({});
  }
  SoakOutcome run(uint64_t seed) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    soak_hint = fmt::format("seed {} fails; to run it alone: PEAL_SIM_SEED={} {} --gtest_filter={}.{}\n", seed, seed,
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
      EXPECT_EQ(play_seed(seed).trace_hash, outcome.trace_hash)
          << soak_hint << "the same seed did something else the second time";
    }
  }
  fmt::print(
      "{} seeds in {:.1f} s: {} connections, {} requests; {} clients served, {} excused; cut off: {} slow, {} "
      "idle, {} evicted or refused; {} memory pauses\n",
      seeds, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(), all.net.opened,
      all.http.requests, all.served, all.excused, all.net.slow_closes, all.net.idle_closes,
      all.net.evicted + all.net.refused, all.net.memory_pauses);
  if (only != nullptr || HasFailure()) return;
  EXPECT_GT(all.served, 2 * all.excused) << "too few clients were served, so the result means nothing";
  if (seeds < 200) return;
  // In each part of the seeds, everything that can go wrong must have happened.
  for (const uint64_t count :
       {all.net.slow_closes, all.net.evicted + all.net.refused, all.net.memory_pauses, all.http.malformed,
        all.http.abandoned, all.http.head_timeouts, all.http.answer_timeouts, all.http.upgraded}) {
    EXPECT_GT(count, 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Part, SimSoak, testing::Range(uint64_t{0}, kSoakParts));

}  // namespace
}  // namespace peal
