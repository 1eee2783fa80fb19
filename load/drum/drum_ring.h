// SPDX-License-Identifier: BSD-3-Clause
// The drum: libevent's `bench`, which libev and muduo measured themselves by. Pairs of fds stand in a ring, some of
// them hold a drumstick: one byte. Who receives a byte sends one to the next pair, as long as writes remain. What it
// shows is what an event loop costs when few of many fds are busy, and what it costs to register them all again.
//
// A round: every watcher (with its idle timer, if asked for) is registered anew, the sticks are dealt out evenly, and
// the loop runs until exactly `active` + `writes` bytes have been received. One loop, one thread: the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <peal/base/clock.h>

namespace peal::load {

// What a byte does to the idle timer of the watcher that received it.
enum class DrumIdle : uint8_t {
  kNone,   // there are no timers
  kTouch,  // stores its time, as peal's own idle timeout does: what a user of peal would write
  kRearm,  // moves the timer in the loop's wheel, as libevent and libev do in theirs
};

struct DrumOptions {
  size_t pairs = 100;
  size_t active = 1;    // sticks; at most `pairs`
  size_t writes = 100;  // passed on in a round, the dealing not counted
  size_t rounds = 25;   // the first of which stands apart; at least 2
  DrumIdle idle = DrumIdle::kNone;
  bool pipes = false;           // instead of socketpairs
  std::string engine = "auto";  // as make_engine() takes it
};

struct DrumRound {
  Duration total{};       // from the first registration on
  Duration loop{};        // from after the dealing on
  uint64_t waits = 0;     // trips into the kernel of `loop`
  uint64_t events = 0;    // what they brought, as the engine counts it
  uint64_t receives = 0;  // bytes
};

struct DrumOutcome {
  std::string engine;  // that ran
  std::vector<DrumRound> rounds;
  uint64_t idle_moves = 0;  // times an idle timer was started, touched or re-armed
  uint64_t idle_ends = 0;   // times one ran out: a watcher heard nothing for 10 to 11 s
};

inline constexpr size_t kMostPairs = 10'000'000;
inline constexpr size_t kMostDrumWrites = 1'000'000'000;
inline constexpr size_t kMostRounds = 100'000;

// Why these options make no sense, as one sentence; empty when they do.
std::string drum_trouble(const DrumOptions& options);
// Why they do not fit into a process that may have `fd_limit` fds open, as one sentence; empty when they do.
std::string drum_misfit(const DrumOptions& options, size_t fd_limit);
// From 10 to 11 s, the same for the same watcher in every round.
Duration drum_idle_timeout(size_t watcher);

// Runs it all; no drum_trouble() may be left. Or why it could not, as one sentence.
std::expected<DrumOutcome, std::string> run_drum(const DrumOptions& options);

}  // namespace peal::load
