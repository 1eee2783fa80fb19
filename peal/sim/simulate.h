// SPDX-License-Identifier: BSD-3-Clause
// simulate(): plays a test's body in a SimWorld and, when it fails, finds the few faults that make it fail.
//
//   const SimReport report = simulate(7, [](SimWorld& world) {
//     ... make loops, servers and clients, run the world ...
//     world.expect(answers == 20, "an answer was lost");
//   });
//   EXPECT_TRUE(report) << report.text();
//
// A body fails by world.fail() or world.expect(), by answering false, or by throwing itself: what a callback throws,
// its loop catches and logs as ever. It does not fail by EXPECT_ and ASSERT_ of GoogleTest, which cannot be taken back,
// for a failing body is played again and again. It makes everything anew each time and takes chance and time from the
// world alone; then one seed always does the same. PEAL_ASSERT ends the process as ever.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/sim/sim_fault.h>
#include <peal/sim/sim_world.h>

namespace peal {

struct SimReport {
  uint64_t seed = 0;  // the failing one, or the last
  bool ok = true;
  std::string why;      // of the run with the faults below
  uint64_t struck = 0;  // faults of the failing seed's first run
  // Without any one of these it does not fail, if the search was not ended by its limit; none: it fails without faults.
  std::vector<SimFault> faults;
  bool fewest = true;  // the search came to its end
  uint64_t seeds = 0;  // that were played
  uint64_t runs = 0;   // of the body: one a seed, the rest in search of the faults
  std::string trace;   // the end of what happened in the run with the faults below

  explicit operator bool() const { return ok; }
  // Some lines for people: what failed, by which faults, what happened last, and how to see it again.
  std::string text() const;
};

// True: it went well.
using SimBody = std::function<bool(SimWorld&)>;

namespace detail {

template <class Body>
SimBody sim_body(Body&& body) {
  return [body = std::forward<Body>(body)](SimWorld& world) mutable {
    if constexpr (std::convertible_to<std::invoke_result_t<Body&, SimWorld&>, bool>) {
      return static_cast<bool>(body(world));
    } else {
      body(world);
      return true;
    }
  };
}

SimReport simulate_seeds(uint64_t first, uint64_t count, const SimOptions& options, const SimBody& body,
                         uint64_t most_runs);

}  // namespace detail

// Runs of the body that the search may take.
inline constexpr uint64_t kMostSearchRuns = 200;

// One seed.
template <std::invocable<SimWorld&> Body>
SimReport simulate(uint64_t seed, const SimOptions& options, Body&& body, uint64_t most_runs = kMostSearchRuns) {
  return detail::simulate_seeds(seed, 1, options, detail::sim_body(std::forward<Body>(body)), most_runs);
}
// In a hostile world.
template <std::invocable<SimWorld&> Body>
SimReport simulate(uint64_t seed, Body&& body) {
  return simulate(seed, SimOptions::hostile(), std::forward<Body>(body));
}

// `count` seeds from `first` on, until one fails.
template <std::invocable<SimWorld&> Body>
SimReport simulate_seeds(uint64_t first, uint64_t count, const SimOptions& options, Body&& body,
                         uint64_t most_runs = kMostSearchRuns) {
  return detail::simulate_seeds(first, count, options, detail::sim_body(std::forward<Body>(body)), most_runs);
}
template <std::invocable<SimWorld&> Body>
SimReport simulate_seeds(uint64_t first, uint64_t count, Body&& body) {
  return simulate_seeds(first, count, SimOptions::hostile(), std::forward<Body>(body));
}

}  // namespace peal
