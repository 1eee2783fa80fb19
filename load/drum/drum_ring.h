// SPDX-License-Identifier: BSD-3-Clause
// The drum: a benchmark of event loops. libevent calls it `bench`; libev and muduo have used it, too. Pairs of
// connected file descriptors form a ring. At the start of a round, some pairs get a byte, which is called a drumstick.
// A pair that receives a byte sends one to the next pair, until the number of writes of the round is used up. The drum
// shows two costs of an event loop. One is handling events when only a few of many descriptors are busy. The other is
// registering all descriptors again.
//
// A round has three steps:
// - All pairs are registered with the loop again, and their idle timers are started again if there are any.
// - `active` pairs get a byte. They are spread evenly over the ring.
// - The loop runs until exactly `active` + `writes` bytes were received.
// There is one loop, on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

// Says how the idle timer of a pair (two connected file descriptors) is handled when the pair receives a byte.
enum class DrumIdle : uint8_t {
  kNone,   // there are no timers
  kTouch,  // only stores the new deadline, as peal's own idle timeout does
  kRearm,  // moves the loop's timer to the new deadline, as libevent and libev do
};

struct DrumOptions {
  size_t pairs = 100;
  size_t active = 1;    // pairs that get a byte at the start of a round; at most `pairs`
  size_t writes = 100;  // bytes that pairs send to the next pair in a round
  size_t rounds = 25;   // at least 2; reports show the first one separately
  DrumIdle idle = DrumIdle::kNone;
  bool pipes = false;           // true: uses pipes instead of socketpairs
  std::string engine = "auto";  // a name that make_engine() knows
};

struct DrumRound {
  Duration total{};       // time from the first registration to the end of the round
  Duration loop{};        // time from when the first bytes were sent to the end of the round
  uint64_t waits = 0;     // how often the loop waited in the kernel during `loop`
  uint64_t events = 0;    // how many events the engine counted during `loop`
  uint64_t receives = 0;  // how many bytes were received
};

struct DrumOutcome {
  std::string engine;  // the engine that ran
  std::vector<DrumRound> rounds;
  uint64_t idle_moves = 0;  // how often an idle timer was started, touched or re-armed
  uint64_t idle_ends = 0;   // how often an idle timer ran out, after 10 to 11 s without a byte
};

inline constexpr size_t kMostPairs = 10'000'000;
inline constexpr size_t kMostDrumWrites = 1'000'000'000;
inline constexpr size_t kMostRounds = 100'000;

// Returns an empty text if the options are valid. Otherwise returns one sentence that says what is wrong.
std::string drum_trouble(const DrumOptions& options);
// Checks whether a process that may open `fd_limit` file descriptors can open all the pairs. Returns an empty text if
// so. Otherwise returns one sentence that says how many pairs it can open.
std::string drum_misfit(const DrumOptions& options, size_t fd_limit);
// Returns the idle timeout of pair number `watcher`. The timeout is from 10 s to 11 s. The timeouts of two neighbouring
// pairs differ by at least 89 ms, so the timers do not end in the order in which they were started. The timeout of a
// pair is the same in every round.
Duration drum_idle_timeout(size_t watcher);

// Runs all rounds of the benchmark. Asserts that drum_trouble(options) is empty. If the benchmark cannot run, returns
// one sentence that says why.
std::expected<DrumOutcome, std::string> run_drum(const DrumOptions& options);

}  // namespace peal::load
