// SPDX-License-Identifier: BSD-3-Clause
// Chaos: servers and clients of one process are connected with each other. Their callbacks, timers and tasks do random
// things that the API allows. A seed decides which:
// - send in every way, pause, pipe, start TLS, leave input unconsumed,
// - end in every way, throw, drain, destroy the server or the client.
//
// The test checks that
// - every received byte is the byte that was sent at that position,
// - on_close is the last callback, and is called once for each on_open,
// - on_writable is called for each end that waits for it,
// - no byte is lost if the peer has ended the connection properly,
// - everything that is open ends, and nothing is left behind.
//
// PEAL_SOAK_SEEDS is the number of seeds (`make sim-soak`). A seed that fails is printed with the command that runs it
// alone. The other seeds still run if PEAL_CHAOS_GOES_ON is set.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include <peal/base/log.h>
#include <peal/base/memory/block_pool.h>
#include <tests/integration/chaos_tasks.h>
#include <tests/support/engine_rig.h>
#include <tests/support/sanitized.h>

namespace peal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ChaosClient;
using test::ChaosLayer;
using test::ChaosRecord;
using test::ChaosServer;
using test::ChaosTasks;
using test::ChaosWorld;

// True if this end has not lost output: its connection is open, or it was closed properly by this side or by its peer.
bool ended_well(const ChaosRecord& record) {
  const auto reason = record.reason;
  return !reason || reason == CloseReason::kLocal || reason == CloseReason::kPeerClosed;
}

// Checks that no byte was lost if the peer has ended the connection properly.
void judge_ends(ChaosWorld& world) {
  for (const ChaosRecord& record : world.records) {
    // If this end has left input unconsumed, each end of the peer is reported as truncation.
    const bool truncated = record.reason == CloseReason::kTruncated && !record.keeps_input;
    if (truncated && record.peer != nullptr && !record.peer->relayed) {
      const ChaosRecord& peer = *record.peer;
      const bool why =
          peer.unsure || !peer.reason || !ended_well(peer) || peer.layer_at != record.layer_at || !world.undisturbed();
      world.check(why, record, "is truncated, although its peer has ended properly: " + peer.text());
    }
    const bool meant = record.fin_came || (!record.is_task && record.reason == CloseReason::kPeerClosed);
    if (!meant || (record.owner_gone && !record.is_task) || record.peer == nullptr || record.layer_at ||
        record.peer->layer_at || record.relayed)
      continue;
    const ChaosRecord& peer = *record.peer;
    if (peer.owner_gone || peer.unsure || peer.relayed || !ended_well(peer) || !world.undisturbed()) continue;
    const bool told = record.here() != nullptr && !record.is_task;
    const uint64_t received = told ? record.here()->received_bytes() : record.received;
    world.check(received == peer.sent, record,
                "did not receive everything that its peer had sent before its end: " + peer.text());
  }
}

// True if a callback is missing: on_message for input that was left unconsumed, or on_writable although no output is
// queued.
bool lacks_a_call(const ChaosRecord& record) {
  const Connection* here = record.here();
  if (here == nullptr || !here->is_open() || record.relayed) return false;
  const bool waits = record.waits_for_writable || record.drain_owed;
  return record.show_owed || (waits && here->can_send() && here->queued_bytes() == 0);
}

// True if a pipe has not passed on all bytes, although nobody has paused reading.
bool is_stuck(const ChaosRecord& record) {
  if (!record.relayed || record.peer == nullptr || record.relayed->source->peer == nullptr) return false;
  const ChaosRecord& source = *record.relayed->source;
  const ChaosRecord& near_source = *source.peer;
  for (const ChaosRecord* each : {&record, record.peer, &source, &near_source}) {
    if (each->here() == nullptr || !each->here()->is_open() || each->layer_at) return false;
  }
  if (record.paused || record.peer->paused || near_source.paused) return false;
  const uint64_t due = record.relayed->begin + source.here()->sent_bytes() - record.relayed->source_at;
  return record.peer->here()->received_bytes() != due;
}

// Describes the first end that waits for bytes or for a callback, or returns "" if there is none. Some time after the
// last random act, nothing is in transit any more, and the result must be "". Otherwise bytes or callbacks are missing.
std::string unrest(ChaosWorld& world) {
  for (const ChaosRecord& record : world.records) {
    if (lacks_a_call(record)) return record.text();
    const ChaosRecord* peer = record.peer;
    if (record.here() == nullptr || peer == nullptr || peer->here() == nullptr) continue;
    Connection& here = *record.here();
    const Connection& there = *peer->here();
    if (is_stuck(record))
      return record.text() + " gets no bytes through its pipe from " + record.relayed->source->text();
    const bool reads = here.is_open() && !record.paused && !record.relayed && here.queued_bytes() == 0;
    if (!reads || !there.is_open() || peer->relayed || record.layer_at || peer->layer_at) continue;
    const bool all_came = here.received_bytes() == there.sent_bytes() - there.queued_bytes();
    if (!all_came) return record.text() + " did not receive everything that was sent: " + peer->text();
    if (there.queued_bytes() > 0) return record.text() + " reads, but the output of its peer waits: " + peer->text();
  }
  return {};
}

// Describes all open connections, with the facts of their sockets. They show where missing bytes wait: in the sender's
// queue, in a kernel, or in the receiver.
std::string facts_of_open(const ChaosWorld& world) {
  std::string all;
  for (const ChaosRecord& record : world.records) {
    if (record.here() == nullptr) continue;
    const ConnectionFacts facts = record.here()->facts();
    all += fmt::format("\n  {}; {}, {} bytes queued, {} unacknowledged, {} kept{}{}", record.text(), facts.state,
                       facts.queued_bytes, facts.unacknowledged_bytes, facts.kept_bytes,
                       facts.paused ? ", paused by its user" : "", facts.above_high_water ? ", above high water" : "");
    if (!facts.tcp) continue;
    all += fmt::format("; TCP: {} segments unacknowledged, {} lost, {} sent again, retransmission timeout {} ms",
                       facts.tcp->unacknowledged, facts.tcp->lost, facts.tcp->retransmitted,
                       facts.tcp->retransmit_timeout / milliseconds(1));
  }
  return all;
}

void play_chaos(ChaosWorld& world) {
  ChaosServer server(world);
  ChaosTasks tasks(world);
  std::vector<std::unique_ptr<ChaosClient>> clients;
  size_t to_come = 1 + world.pick(8);
  std::function<void()> come = [&] {
    const bool to_tasks = world.one_in(2);
    if (world.one_in(2)) {
      tasks.call(to_tasks ? tasks.address() : server.address());
    } else {
      clients.push_back(std::make_unique<ChaosClient>(
          world, [&, to_tasks] { return to_tasks ? tasks.address() : server.address(); }));
    }
    if (--to_come > 0) world.there().after(world.span(60), come);
  };
  world.there().after(milliseconds(1), come);
  const auto acted = [&] { return to_come == 0 && world.acts_under_way == 0; };
  const bool all_acted = world.run_until(acted, seconds(60));
  world.check(all_acted, "the random acts do not end");
  const auto all_over = [&] {
    return server.connections() == 0 && server.quiet() && tasks.connections() == 0 &&
           std::ranges::all_of(clients, [](const auto& client) { return client->over(); });
  };
  const auto all_rest = [&] { return unrest(world).empty(); };
  const bool rests = world.run_until(all_rest, seconds(30));
  if (!rests && world.undisturbed()) {
    world.check(false, "bytes or callbacks are missing: " + unrest(world) + facts_of_open(world));
  }
  const auto abort_those_left = [&] {
    for (ChaosRecord& record : world.records) {
      if (world.by_deadlines || record.here() == nullptr || record.aborts) continue;
      record.aborts = true;
      record.here()->handle().abort();
    }
  };
  if (!world.by_deadlines) world.run_for(milliseconds(world.is_sim() ? 2'000 : 2));
  abort_those_left();
  for (const auto& client : clients) {
    if (!world.by_deadlines || client->reconnects()) client->stop();
  }
  // Aborts the open connections again and again: on a busy machine, a handshake may end only now and open another one.
  const auto all_ended = [&] {
    abort_those_left();
    return all_over();
  };
  if (!world.run_until(all_ended, seconds(90)) && world.trouble.empty()) {
    std::string left;
    for (const ChaosRecord& record : world.records) {
      if (!record.reason && !record.owner_gone && record.here() != nullptr) left += "\n  " + record.text();
    }
    world.check(false, fmt::format("the test hangs: {} connections of the server and {} tasks are left:{}",
                                   server.connections(), tasks.connections(), left));
  }
  judge_ends(world);
  server.check_end();
  tasks.check_end();
  for (const auto& client : clients) client->check_end();
  world.over = true;
}

// Sums over all seeds. They are printed, so that a reader sees whether the seeds have tried everything.
struct ChaosSum {
  uint64_t connections = 0, bytes = 0, pipes = 0, layers = 0, gone = 0;
  std::map<std::string_view, uint64_t> ends;

  void add(const ChaosWorld& world) {
    for (const ChaosRecord& record : world.records) {
      ++connections;
      bytes += record.received;
      pipes += record.relayed.has_value();
      layers += record.secured;
      gone += record.owner_gone;
      if (record.reason) ++ends[to_string(*record.reason)];
    }
  }
  std::string text() const {
    std::string all =
        fmt::format("{} ends of connections, {} bytes, {} piped, {} turned to TLS, {} destroyed with their owner",
                    connections, bytes, pipes, layers, gone);
    for (const auto& [reason, count] : ends) all += fmt::format("; {}: {}", reason, count);
    return all;
  }
};
ChaosSum chaos_sum;

std::string play_chaos(uint64_t seed, ChaosLayer layer, std::string_view engine, uint64_t* trace_hash = nullptr) {
  const uint64_t blocks_before = BlockPool::here().stats().blocks_in_use;
  const size_t fds_before = count_open_fds();
  std::string trouble;
  {
    ChaosWorld world(seed, layer, engine);
    play_chaos(world);
    if (world.sim && world.trouble.empty()) world.check(world.sim->run_until_idle(), "the world does not become idle");
    if (world.sim && world.trouble.empty()) {
      world.check(world.here().timers_pending() + world.there().timers_pending() == 0, "a timer is left");
    }
    if (trace_hash != nullptr && world.sim) *trace_hash = world.sim->trace_hash();
    trouble = world.trouble;
    chaos_sum.add(world);
    if (!trouble.empty() && world.sim) trouble += "\n" + world.sim->trace_tail();
  }
  if (!trouble.empty()) return trouble;
  const uint64_t blocks = BlockPool::here().stats().blocks_in_use;
  if (blocks != blocks_before) return fmt::format("{} blocks are left", blocks - blocks_before);
  if (count_open_fds() != fds_before) return fmt::format("{} fds were open, now {}", fds_before, count_open_fds());
  return {};
}

// Printed if an assertion or a sanitizer ends the process, or if a seed takes longer than 120 s.
std::string chaos_hint;
void print_chaos_hint(int signal_number) {
  (void)!::write(STDERR_FILENO, chaos_hint.data(), chaos_hint.size());
  if (signal_number == SIGALRM) ::_exit(1);
  if (signal_number == SIGSEGV) std::signal(SIGSEGV, SIG_DFL);
}

using ChaosParam = std::tuple<ChaosLayer, std::string_view>;

class Chaos : public testing::TestWithParam<ChaosParam> {
 protected:
  void SetUp() override {
    const auto [layer, engine] = GetParam();
    if (const std::string why = test::why_unsupported(engine); !why.empty()) GTEST_SKIP() << why;
    if (std::getenv("PEAL_SIM_SEED") == nullptr) set_log_sink([](const LogRecord&) {});
    abort_before_ = std::signal(SIGABRT, print_chaos_hint);
    alarm_before_ = std::signal(SIGALRM, print_chaos_hint);
    if (!kSanitized) std::signal(SIGSEGV, print_chaos_hint);
    test::ChaosBytes::get();
    // Runs one seed without checks. It makes objects that live as long as the process, which must not count as left
    // behind.
    play_chaos(1, layer, engine);
  }
  void TearDown() override {
    ::alarm(0);
    std::signal(SIGABRT, abort_before_);
    std::signal(SIGALRM, alarm_before_);
    set_log_sink({});
  }
  static uint64_t seeds(std::string_view engine) {
    const char* text = std::getenv("PEAL_SOAK_SEEDS");
    const uint64_t wanted = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
    if (wanted > 0) return engine == "sim" ? wanted : wanted / 50;  // engines of the kernel run in real time
    return (engine == "sim" ? 600 : 12) / (kSanitized ? 3 : 1);
  }
  void run(uint64_t seed) {
    const auto [layer, engine] = GetParam();
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    chaos_hint = fmt::format("seed {} fails; to run it alone: PEAL_SIM_SEED={} {} --gtest_filter={}.{}\n", seed, seed,
                             program_invocation_name, test->test_suite_name(), test->name());
    ::alarm(120);
    uint64_t hash = 0, again = 0;
    const std::string trouble = play_chaos(seed, layer, engine, &hash);
    EXPECT_TRUE(trouble.empty()) << chaos_hint << trouble;
    if (engine != "sim" || seed % 25 != 1 || !trouble.empty()) return;
    play_chaos(seed, layer, engine, &again);
    EXPECT_EQ(again, hash) << chaos_hint << "the same seed did something else the second time";
  }

 private:
  void (*abort_before_)(int) = nullptr;
  void (*alarm_before_)(int) = nullptr;
};

TEST_P(Chaos, whatever_is_done_bytes_are_right_and_everything_ends) {
  const char* only = std::getenv("PEAL_SIM_SEED");
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const uint64_t last = only != nullptr ? first : seeds(std::get<1>(GetParam()));
  const bool goes_on = std::getenv("PEAL_CHAOS_GOES_ON") != nullptr;
  chaos_sum = {};
  for (uint64_t seed = first; seed <= last && (goes_on || !HasFailure()); ++seed) run(seed);
  fmt::print("{} seeds: {}\n", last - first + 1, chaos_sum.text());
}

std::string chaos_label(const testing::TestParamInfo<ChaosParam>& info) { return std::string(std::get<1>(info.param)); }
auto on_every_engine(ChaosLayer layer) {
  return testing::Combine(testing::Values(layer), testing::ValuesIn(test::every_engine()));
}
// Each instance is a suite of its own, so that ctest runs it in a process of its own.
INSTANTIATE_TEST_SUITE_P(Plain, Chaos, on_every_engine(ChaosLayer::kPlain), chaos_label);
INSTANTIATE_TEST_SUITE_P(Tls, Chaos, on_every_engine(ChaosLayer::kTls), chaos_label);
INSTANTIATE_TEST_SUITE_P(Later, Chaos, on_every_engine(ChaosLayer::kLater), chaos_label);

}  // namespace
}  // namespace peal
