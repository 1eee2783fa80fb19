// SPDX-License-Identifier: BSD-3-Clause
// simulate() runs the body of a test in a SimWorld. If the body fails, simulate() searches for the few faults that make
// it fail, by running it again with fewer faults.
//
//   const SimReport report = simulate(7, [](SimWorld& world) {
//     ...   // make loops, servers and clients; run the world
//     world.expect(answers == 20, "an answer was lost");
//   });
//   EXPECT_TRUE(report) << report.text();
//
// A body fails if it calls world.fail() or world.expect(false, ...), returns false, or throws. An exception of a
// callback does not reach the body, because the callback's loop catches and logs it.
//
// A body must not use EXPECT_ and ASSERT_ of GoogleTest: a failing body runs many times, and each run would report a
// failure. PEAL_ASSERT ends the process, as always.
//
// A body makes all its objects anew in each run, and takes chance and time only from the world. Then a seed always
// gives the same run.
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
  uint64_t seed = 0;    // the seed that failed, or else the last seed that ran
  bool ok = true;       // true if no seed failed
  std::string why;      // why the run with `faults` failed
  uint64_t struck = 0;  // how many faults struck in the first run of the failing seed

  // The faults that make the body fail. Empty if the body fails without any fault. If `fewest` is true, the body does
  // not fail when any single one of them is left out.
  std::vector<SimFault> faults;
  bool fewest = true;  // true if the search ended before the limit of its runs

  uint64_t seeds = 0;  // how many seeds ran
  uint64_t runs = 0;   // how often the body ran: once per seed, and in the search
  std::string trace;   // the last events of the run with `faults`

  explicit operator bool() const { return ok; }
  // Returns some lines for a test report: what failed, the faults, the last events, and how to repeat the run.
  std::string text() const;
};

// The body of a test, which simulate() runs. It returns false if the test fails.
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

// The default for how often the body may run in the search for the faults that make it fail.
inline constexpr uint64_t kMostSearchRuns = 200;

// Runs `body` with one seed, in a world with `options`. The body takes a SimWorld&. It returns nothing, or a bool that
// is false if the test fails. If the test fails and faults struck, simulate() searches for the fewest faults that make
// it fail. It runs the body once without faults, and then with fewer and fewer faults, at most `most_runs` times in
// all.
template <std::invocable<SimWorld&> Body>
SimReport simulate(uint64_t seed, const SimOptions& options, Body&& body, uint64_t most_runs = kMostSearchRuns) {
  return detail::simulate_seeds(seed, 1, options, detail::sim_body(std::forward<Body>(body)), most_runs);
}
// Runs `body` with one seed, in a world with SimOptions::hostile().
template <std::invocable<SimWorld&> Body>
SimReport simulate(uint64_t seed, Body&& body) {
  return simulate(seed, SimOptions::hostile(), std::forward<Body>(body));
}

// Runs `body` with up to `count` seeds, beginning with `first`, and stops at the first seed that fails. The overload
// without `options` uses SimOptions::hostile().
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
