// SPDX-License-Identifier: BSD-3-Clause
// Runs 2,500 seeds in a simulated network with many faults. The clients use an echo server and a relay, with pipes,
// half-closes, pauses, files, deadlines, limits of connections and drains. The test checks that
// - the received bytes are a prefix of what was sent, and all of it if nothing interfered,
// - on_close is called once for each on_open,
// - no limit of connections is exceeded,
// - a drain ends by its deadline, and its report has the right numbers,
// - everything ends, and nothing is left behind.
//
// A seed that fails is printed with the command that runs it alone. To test something more, add it to Visitor (what a
// client does) or to sim_workload.h (what the servers do).
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <tests/integration/sim_workload.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Follower;
using test::Workload;

constexpr uint64_t kSeeds = 2'500;
constexpr int kParts = 8;

class Visitor {
 public:
  enum class Manner : uint8_t { kPatient, kLeavesEarly, kAborts };

  // If `half_closes` is true, the visitor may send FIN before it has received everything. Its target still sends the
  // rest after the FIN.
  Visitor(Workload& workload, uint8_t number, const SocketAddress& target, bool half_closes)
      : workload_(workload),
        number_(number),
        manner_(static_cast<Manner>(workload.pick(5) > 2 ? workload.pick(3) : 0)),
        total_(workload.pick(4) == 0 ? workload.pick(150'000) : workload.pick(5'000)),
        half_closes_(half_closes && workload.pick(3) == 0),
        loop_(workload.pick(2) == 0 ? *workload.here : *workload.there),
        client_(loop_, callbacks(), ClientOptions{.retry = {.attempts = 3}},
                [this](std::error_code, Duration next) { over_ = next == Client::kNoRetry; }) {
    workload.check(client_.connect(target).has_value(), "a visitor cannot begin to connect");
  }
  bool over() const { return over_; }
  void check_end() {
    workload_.check(opened_ == closed_, "on_open and on_close were called differently often");
    if (manner_ == Manner::kPatient && workload_.undisturbed()) {
      workload_.check(follower_.at() == total_, "an undisturbed visitor did not get its whole answer");
    }
  }

 private:
  ConnectionCallbacks callbacks() {
    ConnectionCallbacks callbacks;
    callbacks.on_open = [this](Connection& connection) {
      ++opened_;
      test::limit_life(connection);
      if (manner_ != Manner::kPatient) {
        loop_.after(milliseconds(workload_.pick(50)), [manner = manner_, handle = connection.handle()] {
          if (manner == Manner::kAborts) {
            handle.abort();
          } else {
            handle.close();
          }
        });
      }
      speak(connection);
    };
    callbacks.on_message = [this](Connection& connection, Buffer& input) {
      // In one of four calls, leaves the input unconsumed, if more must come. on_message gets it again with the next
      // input.
      if (workload_.pick(4) == 0 && follower_.at() + input.size() < total_) return;
      workload_.check(follower_.follows(input.view()), "a visitor got a wrong byte");
      workload_.check(follower_.at() == 0 || follower_.visitor() == number_,
                      "a visitor got the bytes of another visitor");
      workload_.check(follower_.at() <= said_, "a visitor got more than it sent");
      input.clear();
      if (follower_.at() == total_) return connection.close();
      if (workload_.pick(10) == 0) rest(connection);
    };
    callbacks.on_close = [this](Connection&, CloseReason) {
      ++closed_;
      over_ = true;
    };
    return callbacks;
  }
  void rest(Connection& connection) {
    connection.pause();
    loop_.after(milliseconds(workload_.pick(workload_.pick(8) == 0 ? 3'000 : 4)),
                [handle = connection.handle()] { handle.run([](Connection& later) { later.resume(); }); });
  }
  void speak(Connection& connection) {
    static const std::shared_ptr<const Fd> streams = test::make_stream_file();
    const size_t size = std::min(total_ - said_, 1 + workload_.pick(8'000));
    if (said_ + size <= test::kStreamFileBytes && workload_.pick(4) == 0) {
      connection.send_file({.file = streams, .offset = number_ * test::kStreamFileBytes + said_, .bytes = size});
      said_ += size;
    } else {
      std::string chunk;
      while (chunk.size() < size) chunk += test::byte_of(number_, said_++);
      connection.send(chunk);
    }
    if (total_ == 0) return connection.close();
    if (said_ == total_) {
      if (half_closes_) connection.shutdown_send();
      return;
    }
    loop_.after(milliseconds(workload_.pick(5)),
                [this, handle = connection.handle()] { handle.run([this](Connection& later) { speak(later); }); });
  }

  Workload& workload_;
  const uint8_t number_;
  const Manner manner_;
  const size_t total_;
  const bool half_closes_;
  size_t said_ = 0;
  Follower follower_;
  int opened_ = 0;
  int closed_ = 0;
  bool over_ = false;
  Loop& loop_;
  Client client_;
};

// Drains a server at a random time, or not at all.
class Drainer {
 public:
  Drainer(Workload& workload, Loop& loop, Server& server) : workload_(workload), loop_(loop), server_(server) {
    if (workload.pick(3) == 0) timer_ = loop.after(milliseconds(workload.pick(200)), [this] { drain(); });
  }
  ~Drainer() { loop_.cancel(timer_); }
  Drainer(const Drainer&) = delete;
  Drainer& operator=(const Drainer&) = delete;
  bool under_way() const { return begun_ && !done_; }

 private:
  void drain() {
    begun_ = workload_.meddled = true;
    const Duration deadline = milliseconds(workload_.pick(300));
    server_.drain(deadline, [this, latest = loop_.now() + deadline + milliseconds(10)](const DrainReport& report) {
      const NetStats stats = server_.stats();
      workload_.check(!std::exchange(done_, true), "the end of a drain was reported twice");
      workload_.check(stats.opened == stats.closed, "a drain ended before its connections");
      workload_.check(report.finished == stats.drained && report.forced == stats.drain_forced,
                      "a drain's report is wrong");
      workload_.check(loop_.now() <= latest, "a drain ended after its deadline");
    });
  }

  Workload& workload_;
  Loop& loop_;
  Server& server_;
  TimerId timer_;
  bool begun_ = false;
  bool done_ = false;
};

struct Outcome {
  std::string trouble;  // empty if all went well
  uint64_t trace_hash = 0;
  SimStats stats;
  NetStats net;
};

void play(Workload& workload, Outcome& outcome) {
  const ServerOptions echo_options = test::some_options(workload);
  if (echo_options.max_connections > 0) workload.echo_cap = echo_options.max_connections;
  Server echoing(*workload.here, test::echo(workload), echo_options);
  const SimOptions faults = std::exchange(workload.world.options(), {});
  const Result<SocketAddress> echo_at = echoing.listen("127.0.0.1:0");
  Server relaying(*workload.there, test::relay(workload, *echo_at), test::some_options(workload));
  const Result<SocketAddress> relay_at = relaying.listen("127.0.0.1:0");
  workload.world.options() = faults;
  const Drainer echo_drainer(workload, *workload.here, echoing);
  const Drainer relay_drainer(workload, *workload.there, relaying);
  std::vector<std::unique_ptr<Visitor>> visitors;
  for (size_t i = 1 + workload.pick(test::kMostVisitors); i > 0; --i) {
    const bool by_relay = workload.pick(3) == 0;
    visitors.push_back(std::make_unique<Visitor>(workload, static_cast<uint8_t>(i), by_relay ? *relay_at : *echo_at,
                                                 !by_relay || workload.pipes));
  }
  const bool ended = workload.world.run_until(
      [&] {
        return std::ranges::all_of(visitors, &Visitor::over) && echoing.connections() + relaying.connections() == 0 &&
               !echo_drainer.under_way() && !relay_drainer.under_way();
      },
      std::chrono::minutes(30));
  workload.check(ended, "the test hangs");
  NetStats net = echoing.stats();
  net += relaying.stats();
  workload.meddled |= net.idle_closes + net.slow_closes + net.evicted + net.refused + net.drain_forced > 0;
  for (const auto& visitor : visitors) visitor->check_end();
  workload.check(net.opened == net.closed, "the servers count more connections opened than closed");
  outcome.net = net;
}

Outcome play(uint64_t seed) {
  const uint64_t blocks_before = BlockPool::here().stats().blocks_in_use;
  Outcome outcome;
  {
    Workload workload(seed);
    play(workload, outcome);
    workload.world.run_for(seconds(1));
    outcome.trace_hash = workload.world.trace_hash();
    outcome.stats = workload.world.stats();
    if (!workload.trouble.empty()) outcome.trouble = workload.trouble + "\n" + workload.world.trace_tail();
  }
  const uint64_t blocks = BlockPool::here().stats().blocks_in_use;
  if (outcome.trouble.empty() && blocks != blocks_before) outcome.trouble = "the seed left blocks behind";
  return outcome;
}

// Printed if an assertion or a sanitizer ends the process.
std::string replay_hint;
void print_hint(int) { (void)!::write(STDERR_FILENO, replay_hint.data(), replay_hint.size()); }

class SimSeeds : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    set_log_sink([](const LogRecord&) {});
    before_ = std::signal(SIGABRT, print_hint);
  }
  void TearDown() override {
    std::signal(SIGABRT, before_);
    set_log_sink({});
  }
  Outcome run(uint64_t seed) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    replay_hint = fmt::format("seed {} fails; to run it alone: PEAL_SIM_SEED={} {} --gtest_filter={}.{}\n", seed, seed,
                              program_invocation_name, test->test_suite_name(), test->name());
    Outcome outcome = play(seed);
    EXPECT_TRUE(outcome.trouble.empty()) << replay_hint << outcome.trouble;
    return outcome;
  }

 private:
  void (*before_)(int) = nullptr;
};

TEST_P(SimSeeds, echo_relay_and_close_survive_a_hostile_world) {
  const char* only = std::getenv("PEAL_SIM_SEED");
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : static_cast<uint64_t>(GetParam()) + 1;
  const uint64_t last = only != nullptr ? first : kSeeds;
  uint64_t met_everywhere = 0;  // seeds that met every common fault
  // How often the rare faults have occurred. In each part whose seeds have these faults, each of them must occur.
  uint64_t resets = 0, vanished = 0, connects_failed = 0, no_fd = 0;
  NetStats net;
  for (uint64_t seed = first; seed <= last && !HasFailure(); seed += kParts) {
    const Outcome outcome = run(seed);
    const SimStats& stats = outcome.stats;
    met_everywhere +=
        stats.short_reads > 0 && stats.short_writes > 0 && stats.interrupted > 0 && stats.again > 0 && stats.late > 0;
    resets += stats.resets;
    vanished += stats.vanished;
    connects_failed += stats.connects_failed;
    no_fd += stats.no_fd;
    net += outcome.net;
    if (seed % 25 == 1) {
      EXPECT_EQ(play(seed).trace_hash, outcome.trace_hash)
          << replay_hint << "the same seed did something else the second time";
    }
  }
  // A single seed need not meet every fault. Builds with a sanitizer run the same seeds, but do not check this.
  if (only != nullptr || kSanitized) return;
  const bool calm = GetParam() % 4 == 3;  // all seeds of this part are lossless, see options_for()
  EXPECT_GT(met_everywhere, kSeeds / kParts / 2);
  for (const uint64_t count :
       {net.idle_closes, net.slow_closes, net.evicted + net.refused, net.drained, net.drain_forced}) {
    EXPECT_GT(count, 0u);
  }
  EXPECT_EQ(resets > 0 && vanished > 0 && connects_failed > 0 && no_fd > 0, !calm);
}
INSTANTIATE_TEST_SUITE_P(Part, SimSeeds, testing::Range(0, kParts));

}  // namespace
}  // namespace peal
