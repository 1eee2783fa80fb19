// SPDX-License-Identifier: BSD-3-Clause
// Tests the service in simulated networks with faults: short reads and writes, delays, resets, lost connections, and
// fds that run out. Three clients put and get values, each under a key of its own. Then the service drains. A seed
// decides which faults occur and when.
//
//   my_service_test         runs 100 seeds, beginning with 1, or with $PEAL_SEED
//   my_service_test SEED    runs this seed only
//
// If a seed fails, the report names it, and the few faults that the failure needs.
#include "service.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <peal/coro/scope.h>
#include <peal/coro/sleep.h>
#include <peal/sim/sim_loop.h>
#include <peal/sim/sim_loop_group.h>
#include <peal/sim/simulate.h>
#include <peal/wire/parse_text.h>

#include "store.h"
#include "test_client.h"

namespace {

using peal::SimWorld;
using peal::Task;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr const char* kAddress = "10.0.0.1:8000";
constexpr size_t kConnections = 100;
constexpr int kRounds = 20;
constexpr std::array kKeys = {"alpha", "beta", "gamma"};  // one for each client
constexpr seconds kDrain{5};

// What a client of one key may read. A put() that has failed may be carried out or not, even later, so a get() may
// return the value of any put() since the last one that was confirmed.
class History {
 public:
  int next() { return ++last_put_; }
  void confirm(int number) { confirmed_ = number; }
  bool allows(const std::optional<std::string>& value) const {
    if (!value) return confirmed_ == 0;
    const std::optional<int> number = peal::parse_text<int>(*value);
    return number && *number >= confirmed_ && *number <= last_put_;
  }

 private:
  int confirmed_ = 0;  // the number that the last successful put() stored; 0: none
  int last_put_ = 0;   // the number of the last put(), successful or not
};

// One client: puts ascending numbers under its key, and gets the value back after each.
Task<> use(SimWorld& world, peal::Loop& loop, std::string key, int& done) {
  app::TestClient client(loop, kAddress);
  History history;
  for (int round = 0; round < kRounds; ++round) {
    const int number = history.next();
    const peal::Result<void> put = co_await client.put(key, std::to_string(number));
    if (put) history.confirm(number);
    world.expect(put || put.error() != std::errc::protocol_error, "a put got a wrong answer");
    const peal::Result<std::optional<std::string>> value = co_await client.get(key);
    if (value) world.expect(history.allows(*value), key + " is " + value->value_or("nothing"));
    world.expect(value || value.error() != std::errc::protocol_error, "a get got a wrong answer");
    co_await peal::sleep(milliseconds(10));
  }
  ++done;
}

// The body of the test: one world, which simulate() has made from a seed.
void play(SimWorld& world) {
  peal::SimLoopGroup service_loops(world, 2);
  peal::SimLoop client_loop(world);
  app::Service service(*service_loops, kConnections);
  while (!service.listen(kAddress)) {
  }  // tries again, because listen() may fail with a simulated fault (no free fd)

  int done = 0;
  peal::Scope clients(*client_loop);
  for (const char* key : kKeys) clients.spawn(use(world, *client_loop, key, done));
  world.expect(world.run_until([&] { return done == int(kKeys.size()); }), "a client waits for ever");

  bool drained = false;
  service.drain(kDrain, [&](const peal::DrainReport&) { drained = true; });
  world.expect(world.run_until([&] { return drained; }, kDrain + seconds(1)), "the drain does not end in time");
  world.expect(!drained || service.connections() == 0, "a connection is open after the drain");
  client_loop->end();  // if the world has failed, clients still wait; they end before the scope does
}

// The limits of the store need no network.
bool store_keeps_its_limits() {
  using app::PutResult;
  app::Store store({.entries = 2, .key_bytes = 3, .value_bytes = 4});
  const bool refuses = store.put("", "v") == PutResult::kBadKey && store.put("a b", "v") == PutResult::kBadKey &&
                       store.put("long", "v") == PutResult::kBadKey &&
                       store.put("a", "12345") == PutResult::kValueTooLong;
  const bool is_full = store.put("a", "1") == PutResult::kStored && store.put("b", "2") == PutResult::kStored &&
                       store.put("c", "3") == PutResult::kFull;
  const bool goes_on = store.put("a", "4") == PutResult::kStored && store.get("a") == "4" && store.remove("b") &&
                       !store.remove("b") && store.put("c", "3") == PutResult::kStored && !store.get("b");
  return refuses && is_full && goes_on;
}

}  // namespace

int main(int count, char** arguments) {
  if (!store_keeps_its_limits()) {
    std::printf("the store does not keep its limits\n");
    return 1;
  }
  const char* const first_seed = std::getenv("PEAL_SEED");
  const char* const text = count > 1 ? arguments[1] : first_seed != nullptr ? first_seed : "1";
  const std::optional<uint64_t> seed = peal::parse_text<uint64_t>(text);
  if (!seed) {
    std::printf("a seed is a number, not '%s'\n", text);
    return 2;
  }
  const uint64_t seeds = count > 1 ? 1 : 100;
  const peal::SimReport report = peal::simulate_seeds(*seed, seeds, play);
  std::printf("%s", report.text().c_str());
  if (report) return 0;
  std::printf("To repeat it: %s %llu\n", arguments[0], static_cast<unsigned long long>(report.seed));
  return 1;
}
