// SPDX-License-Identifier: BSD-3-Clause
// Remote procedure calls on simulated machines: 10,000 calls to three servers, in a network with faults of all kinds.
// One server loses power and restarts, one is slow, and one is cut off from the network for two seconds. Each call must
// end exactly once, and by its deadline. No call may be executed twice. `simulated_rpc [SEED...]` prints a line for
// each seed, by default for the seeds 1 to 5.
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <examples/protobuf/rpc_echo.pb.h>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/protobuf/rpc/rpc_channel.h>
#include <peal/protobuf/rpc/rpc_server.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_machine.h>
#include <peal/sim/simulate.h>

namespace {

using echo::EchoRequest;
using echo::EchoResponse;
using echo::EchoService;
using peal::Duration;
using peal::Result;
using peal::RpcCall;
using peal::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint16_t kPort = 7000;
constexpr size_t kWorkers = 100;
constexpr size_t kCallsEach = 100;
constexpr size_t kCalls = kWorkers * kCallsEach;
constexpr Duration kDeadline = milliseconds(200);
constexpr Duration kPause = milliseconds(50);  // how long a worker waits between two calls
constexpr Duration kSilence = seconds(1);      // after this time without an answer, the caller connects again
constexpr Duration kSlack = milliseconds(5);   // how late a timer or the end of a call may be

constexpr std::string_view kClient = "10.0.0.9";
enum Name : uint8_t { kKilled, kSlow, kCutOff, kServers };
constexpr std::array<std::string_view, kServers> kAddresses = {"10.0.0.1", "10.0.0.2", "10.0.0.3"};

// Counts how often each call was executed, by all servers together. The test fails if a call was executed twice.
class Ledger {
 public:
  explicit Ledger(peal::SimWorld& world) : world_(world) {}

  void carried_out(size_t call) {
    world_.expect(++times_[call] == 1, "call " + std::to_string(call) + " was executed twice");
  }
  int times(size_t call) const { return times_[call]; }
  peal::SimWorld& world() const { return world_; }

 private:
  peal::SimWorld& world_;
  std::vector<int> times_ = std::vector<int>(kCalls);
};

size_t number_in(const std::string& payload) {
  size_t number = 0;
  std::from_chars(payload.data(), payload.data() + payload.size(), number);
  return number;
}

class EchoMachine {
 public:
  EchoMachine(peal::SimMachine& machine, Ledger& ledger, bool slow) : loop_(machine), server_(*loop_) {
    server_.handle(&EchoService::Echo,
                   [&ledger, slow](RpcCall& call, const EchoRequest& request, EchoResponse& response) -> Task<> {
                     const size_t number = number_in(request.payload());
                     ledger.carried_out(number);
                     ledger.world().expect(call.time_left() <= kDeadline,
                                           "a server sees a longer deadline than the client has set");
                     const peal::TimePoint begin = call.loop().now();
                     // The slow server delays a call by up to twice the deadline, so about half of its calls time out.
                     if (slow) co_await peal::sleep(2 * kDeadline * (number * 31 % 100) / 100);
                     const Duration taken = call.loop().now() - begin;
                     ledger.world().expect(taken <= kDeadline + kSlack, "a handler ran past its deadline");
                     response.set_payload(request.payload());
                   });
    while (!server_.listen(machine.address(kPort))) {
    }  // tries again, because listen() may fail with a simulated fault (no free fd)
  }

 private:
  peal::SimLoop loop_;
  peal::RpcServer server_;
};

struct Figures {
  std::array<size_t, kServers> answered = {};
  size_t timed_out = 0;
  size_t lost = 0;      // the connection was lost after the call was sent
  size_t not_sent = 0;  // there was no connection to send the call on
  size_t late = 0;      // answers that came after their call had ended
};

// The client of the test: it calls the three servers in turn. A worker makes one call at a time. Half of the workers
// are coroutines, and the other half use callbacks, so that the test covers both APIs. The test also covers both values
// of waits_for_connection. While the server that loses power has no connection, a call to that server fails
// immediately. A call to one of the other servers waits for a connection.
class Caller {
 public:
  Caller(Ledger& ledger, peal::SimMachine& machine)
      : ledger_(ledger), world_(ledger.world()), loop_(std::make_unique<peal::SimLoop>(machine)) {
    for (size_t server = 0; server < kServers; ++server) {
      channels_.push_back(std::make_unique<peal::RpcChannel>(**loop_, options(server)));
      connect(server);
    }
    scope_.emplace(**loop_);
    for (size_t worker = 0; worker < kWorkers; worker += 2) {
      scope_->spawn(await_calls());
      call_back(kCallsEach);
    }
  }
  // Destroys the loop before the scope. If the test has failed, the scope may still have coroutines that have not
  // ended. The destructor of a scope with such coroutines asserts, unless the loop of the scope has ended before.
  ~Caller() {
    loop_.reset();
    scope_.reset();
  }

  bool is_done() const { return ended_ == kCalls; }
  void heal() { answered_since_ = figures_.answered; }
  Figures check() {
    for (size_t number = 0; number < kCalls; ++number) {
      const Call& call = calls_[number];
      const int times = ledger_.times(number);
      world_.expect(call.ends == 1, "a call did not end exactly once");
      world_.expect(!call.answered || times == 1, "a call was answered, but was not executed once");
      world_.expect(!call.not_sent || times == 0, "a call was executed, although it failed as not sent");
    }
    for (size_t server = 0; server < kServers; ++server) {
      const peal::RpcChannelStats stats = channels_[server]->stats();
      const size_t ends = stats.answered + stats.failed + stats.timed_out;
      world_.expect(ends == stats.calls && stats.under_way == 0, "the counters of a channel do not add up");
      world_.expect(figures_.answered[server] > answered_since_[server],
                    "a server has answered nothing since the partition was healed");
      figures_.late += stats.late;
    }
    return figures_;
  }

 private:
  struct Call {
    size_t server = 0;
    peal::TimePoint begin;
    int ends = 0;
    bool answered = false;
    bool not_sent = false;
  };

  static peal::RpcChannelOptions options(size_t server) {
    peal::RpcChannelOptions options;
    options.client.connect_timeout = milliseconds(500);
    options.waits_for_connection = server != kKilled;
    options.client.retry.longest_delay = milliseconds(200);
    return options;
  }

  void connect(size_t server) {
    last_answer_[server] = (*loop_)->now();
    const std::string address = std::string(kAddresses[server]) + ":" + std::to_string(kPort);
    world_.expect(channels_[server]->connect(address).has_value(), "connect() of a channel fails immediately");
  }

  // Counts a call that has timed out. If the server has answered nothing for kSilence, the function also ends the
  // connection and connects again, because the network may have lost the connection without a FIN or RST. TCP would
  // report that loss only after 15 minutes or more. A channel without a connection needs no help, because the channel
  // itself tries to connect.
  void timed_out(size_t server) {
    ++figures_.timed_out;
    if (!channels_[server]->is_connected() || (*loop_)->now() - last_answer_[server] < kSilence) return;
    channels_[server]->stop();
    connect(server);
  }

  size_t begin() {
    const size_t number = begun_++;
    calls_[number] = {.server = number % kServers, .begin = (*loop_)->now()};
    return number;
  }

  Task<> await_calls() {
    bool goes_on = true;
    for (size_t i = 0; i < kCallsEach && goes_on; ++i) {
      const size_t number = begin();
      EchoRequest request;
      request.set_payload(std::to_string(number));
      peal::RpcChannel& channel = *channels_[calls_[number].server];
      goes_on = end(number, co_await channel.call(&EchoService::Echo, request).within(kDeadline));
      goes_on = goes_on && co_await peal::sleep(kPause);
    }
  }
  void call_back(size_t calls) {
    if (calls == 0) return;
    const size_t number = begin();
    EchoRequest request;
    request.set_payload(std::to_string(number));
    const auto ended = [this, number, calls](Result<EchoResponse> answer) {
      if (end(number, answer)) (*loop_)->after(kPause, [this, calls] { call_back(calls - 1); });
    };
    channels_[calls_[number].server]->call(&EchoService::Echo, request, ended, kDeadline);
  }

  // Records how a call has ended. Returns true if the worker may make its next call. Returns false and records nothing
  // if the call has failed with kLoopStopped. A call gets that error only when ~Caller() destroys the loop after a
  // failed test.
  bool end(size_t number, const Result<EchoResponse>& answer) {
    if (!answer && answer.error() == peal::Trouble::kLoopStopped) return false;
    Call& call = calls_[number];
    ++ended_;
    world_.expect(++call.ends == 1, "call " + std::to_string(number) + " ended twice");
    world_.expect((*loop_)->now() - call.begin <= kDeadline + kSlack, "a call ended after its deadline");
    if (answer) {
      world_.expect(number_in(answer->payload()) == number, "a call got the answer of another call");
      call.answered = true;
      ++figures_.answered[call.server];
      last_answer_[call.server] = (*loop_)->now();
    } else if (answer.error() == std::errc::timed_out) {
      timed_out(call.server);
    } else if (answer.error() == peal::RpcTrouble::kConnectionLost) {
      ++figures_.lost;
    } else if (answer.error() == peal::RpcTrouble::kNotConnected) {
      call.not_sent = true;
      ++figures_.not_sent;
    } else {
      world_.fail("a call failed with an unexpected error: " + answer.error().message());
    }
    return true;
  }

  Ledger& ledger_;
  peal::SimWorld& world_;
  std::unique_ptr<peal::SimLoop> loop_;
  std::vector<std::unique_ptr<peal::RpcChannel>> channels_;
  std::optional<peal::Scope> scope_;
  std::vector<Call> calls_ = std::vector<Call>(kCalls);
  size_t begun_ = 0;
  size_t ended_ = 0;
  Figures figures_;
  std::array<size_t, kServers> answered_since_ = {};
  std::array<peal::TimePoint, kServers> last_answer_ = {};  // the time of the last answer or connect() of each server
};

void play(peal::SimWorld& world, Figures& figures) {
  Ledger ledger(world);
  std::vector<std::unique_ptr<peal::SimMachine>> servers;
  for (size_t server = 0; server < kServers; ++server) {
    const auto boot = [&ledger, slow = server == kSlow](peal::SimMachine& machine) {
      return std::make_shared<EchoMachine>(machine, ledger, slow);
    };
    servers.push_back(std::make_unique<peal::SimMachine>(world, kAddresses[server], boot));
  }
  peal::SimMachine machine(world, kClient);
  machine.set_clock({.ahead = std::chrono::hours(1), .rate = 1.01});
  Caller caller(ledger, machine);

  world.after(seconds(1), [&] { servers[kKilled]->crash(); });
  world.after(seconds(3), [&] { servers[kKilled]->restart(); });
  world.after(seconds(2), [&] { world.partition({std::string(kAddresses[kCutOff])}, {std::string(kClient)}); });
  world.after(seconds(4), [&] {
    world.heal();
    caller.heal();
  });
  world.expect(world.run_until([&] { return caller.is_done(); }), "some calls never ended");
  world.run_for(seconds(2));  // waits for late answers
  if (world.failure().empty()) figures = caller.check();
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<uint64_t> seeds;
  for (int i = 1; i < count; ++i) seeds.push_back(std::strtoull(arguments[i], nullptr, 10));
  if (seeds.empty()) seeds = {1, 2, 3, 4, 5};
  std::printf("        answered by\n%-7s %6s %6s %8s %10s %6s %9s %6s\n", "seed", "killed", "slow", "cut off",
              "timed out", "lost", "not sent", "late");
  for (const uint64_t seed : seeds) {
    Figures figures;
    const peal::SimReport report = peal::simulate(
        seed, peal::SimOptions::hostile(), [&figures](peal::SimWorld& world) { play(world, figures); }, 20);
    if (!report) {
      std::printf("%s", report.text().c_str());
      return 1;
    }
    const auto& [killed, slow, cut_off] = figures.answered;
    std::printf("%-7llu %6zu %6zu %8zu %10zu %6zu %9zu %6zu\n", static_cast<unsigned long long>(seed), killed, slow,
                cut_off, figures.timed_out, figures.lost, figures.not_sent, figures.late);
  }
}
