// SPDX-License-Identifier: BSD-3-Clause
// The steps of a round are tasks that are posted to the loop. Two properties of tasks matter:
// - If a task posts another one, that one runs in the next iteration of the loop. So the loop waits in the kernel
//   between registering the pairs and sending the first bytes. In that wait, an engine can do work that it had
//   postponed, such as submitting requests to an io_uring.
// - If an event handler posts a task, the task runs after all events of the iteration. At that time the counters of the
//   engine are complete.
#include <load/drum/drum_ring.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <load/session/idle_timer.h>
#include <peal/base/assert.h>
#include <peal/base/fd.h>
#include <peal/loop/loop.h>
#include <peal/loop/watch.h>

namespace peal::load {
namespace {

// The number of file descriptors that the process may use for purposes other than the pairs. Some descriptors are open
// already. The engine and libraries open more.
constexpr size_t kFdsBeside = 32;

struct FdPair {
  Fd receiving;
  Fd sending;
};

std::string error_text(int error) { return errno_code(error).message(); }

std::expected<std::vector<FdPair>, std::string> open_pairs(const DrumOptions& options) {
  std::vector<FdPair> pairs;
  pairs.reserve(options.pairs);
  while (pairs.size() < options.pairs) {
    int fds[2];
    const int failed = options.pipes ? ::pipe2(fds, O_NONBLOCK | O_CLOEXEC)
                                     : ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
    if (failed != 0) {
      return std::unexpected(
          fmt::format("only {} of {} pairs could be opened: {}", pairs.size(), options.pairs, error_text(errno)));
    }
    pairs.push_back({Fd(fds[0]), Fd(fds[1])});
  }
  return pairs;
}

// Returns an empty text if select(2) can watch all pairs. Otherwise returns one sentence that says why not. The reason
// is that select(2) can watch only descriptors below FD_SETSIZE. The engine would ignore the others.
std::string select_misfit(const std::vector<FdPair>& pairs) {
  const auto fits = [](const FdPair& pair) { return pair.receiving.get() < FD_SETSIZE; };
  const auto room = std::ranges::count_if(pairs, fits);
  if (static_cast<size_t>(room) == pairs.size()) return {};
  return fmt::format(
      "select(2) takes only fds below FD_SETSIZE ({}), so it can watch only {} of the {} pairs: use fewer pairs or "
      "another engine",
      FD_SETSIZE, room, pairs.size());
}

struct Drummer {
  Drummer(Loop& loop, int fd, Watch::Callback on_byte)
      : watch(loop, fd, Readiness{.readable = true}, std::move(on_byte)) {}

  Watch watch;
  std::optional<IdleTimer> idle;
};

class Ring {
 public:
  Ring(const DrumOptions& options, Loop& loop, std::vector<FdPair>& pairs)
      : options_(options), loop_(loop), pairs_(pairs) {}

  std::expected<DrumOutcome, std::string> run() {
    loop_.post([this] { begin_round(); });
    if (const Result<void> ran = loop_.run(); !ran) {
      return std::unexpected(fmt::format("cannot run the event loop: {}", ran.error().message()));
    }
    if (!error_.empty()) return std::unexpected(error_);
    outcome_.engine = loop_.engine().name();
    return std::move(outcome_);
  }

 private:
  void begin_round() {
    round_began_ = monotonic_now();
    if (drummers_.empty()) {
      enlist();
    } else {
      register_anew();
    }
    events_before_ = loop_.engine().stats().events;
    loop_.post([this] { settle(); });
  }

  // Sends the first bytes of the round as soon as a loop iteration has brought no event. The pairs have just been
  // registered, and the engine may still have work from the registration, which must not be measured as part of
  // DrumRound::loop. If the last iteration has brought events, settle() is called again after the next iteration.
  void settle() {
    const uint64_t before = std::exchange(events_before_, loop_.engine().stats().events);
    if (events_before_ == before) return deal();
    loop_.post([this] { settle(); });
  }

  void enlist() {
    for (size_t i = 0; i < pairs_.size(); ++i) {
      Drummer& drummer = drummers_.emplace_back(loop_, pairs_[i].receiving.get(), [this, i](Readiness) { receive(i); });
      if (options_.idle == DrumIdle::kNone) continue;
      drummer.idle.emplace(loop_, drum_idle_timeout(i), [this] { ++outcome_.idle_ends; });
      ++outcome_.idle_moves;
    }
  }

  // Registers each pair again: the loop stops watching the pair, and then watches the pair again. A server causes the
  // same work when a client disconnects and another client connects. The benchmark measures this work as part of
  // DrumRound::total. Also restarts the idle timers.
  void register_anew() {
    for (Drummer& drummer : drummers_) {
      drummer.watch.set_interest({});
      drummer.watch.set_interest({.readable = true});
      if (!drummer.idle) continue;
      drummer.idle->restart();
      ++outcome_.idle_moves;
    }
  }

  void deal() {
    receives_ = 0;
    writes_left_ = options_.writes;
    const size_t apart = options_.pairs / options_.active;
    for (size_t stick = 0; stick < options_.active; ++stick) send(stick * apart);
    waits_before_ = loop_.engine().stats().waits;
    loop_began_ = monotonic_now();
  }

  void receive(size_t i) {
    char byte;
    const ssize_t got = ::read(pairs_[i].receiving.get(), &byte, 1);
    if (got < 0 && errno == EAGAIN) return;
    if (got != 1) return fail_with(fmt::format("cannot read from pair {}: {}", i, error_text(got < 0 ? errno : EPIPE)));
    ++receives_;
    if (options_.idle != DrumIdle::kNone) postpone(*drummers_[i].idle);
    if (writes_left_ > 0) {
      --writes_left_;
      send(i + 1 == pairs_.size() ? 0 : i + 1);
    }
    if (receives_ == options_.active + options_.writes) end_round();
  }

  void postpone(IdleTimer& idle) {
    if (options_.idle == DrumIdle::kTouch) {
      idle.touch();
    } else {
      idle.rearm();
    }
    ++outcome_.idle_moves;
  }

  void send(size_t i) {
    if (::write(pairs_[i].sending.get(), "e", 1) != 1) {
      fail_with(fmt::format("cannot write to pair {}: {}", i, error_text(errno)));
    }
  }

  void end_round() {
    const TimePoint now = monotonic_now();
    loop_.post([this, now] {
      const EngineStats& stats = loop_.engine().stats();
      outcome_.rounds.push_back({.total = now - round_began_,
                                 .loop = now - loop_began_,
                                 .waits = stats.waits - waits_before_,
                                 .events = stats.events - events_before_,
                                 .receives = receives_});
      if (outcome_.rounds.size() < options_.rounds) {
        begin_round();
      } else {
        loop_.stop();
      }
    });
  }

  void fail_with(std::string sentence) {
    if (error_.empty()) error_ = std::move(sentence);
    loop_.stop();
  }

  const DrumOptions& options_;
  Loop& loop_;
  const std::vector<FdPair>& pairs_;
  std::deque<Drummer> drummers_;  // one for each pair
  DrumOutcome outcome_;
  std::string error_;
  TimePoint round_began_;
  TimePoint loop_began_;
  uint64_t waits_before_ = 0;
  uint64_t events_before_ = 0;
  size_t receives_ = 0;
  size_t writes_left_ = 0;
};

std::string out_of_range(std::string_view option, size_t least, size_t most, size_t given) {
  if (given >= least && given <= most) return {};
  return fmt::format("{} takes {} to {}, not {}", option, least, most, given);
}

}  // namespace

std::string drum_trouble(const DrumOptions& options) {
  for (const std::string& trouble :
       {out_of_range("-n", 1, kMostPairs, options.pairs), out_of_range("-a", 1, kMostPairs, options.active),
        out_of_range("-w", 0, kMostDrumWrites, options.writes),
        out_of_range("--rounds", 2, kMostRounds, options.rounds)}) {
    if (!trouble.empty()) return trouble;
  }
  if (options.active > options.pairs) {
    return fmt::format("{} drumsticks are too many for {} pairs: -a takes at most -n", options.active, options.pairs);
  }
  return {};
}

std::string drum_misfit(const DrumOptions& options, size_t fd_limit) {
  const size_t most = (fd_limit - std::min(fd_limit, kFdsBeside)) / 2;
  if (options.pairs <= most) return {};
  return fmt::format("this process may open {} fds: at most {} pairs, not {}", fd_limit, most, options.pairs);
}

Duration drum_idle_timeout(size_t watcher) {
  constexpr size_t kStep = 7919;  // has no common factor with 1001, so neighbours get very different timeouts
  return std::chrono::milliseconds(10'000 + watcher * kStep % 1001);
}

std::expected<DrumOutcome, std::string> run_drum(const DrumOptions& options) {
  PEAL_ASSERT(drum_trouble(options).empty(), "the options of a drum with {} pairs, {} active, make no sense",
              options.pairs, options.active);
  std::expected<std::vector<FdPair>, std::string> pairs = open_pairs(options);
  if (!pairs) return std::unexpected(pairs.error());
  Result<std::unique_ptr<Loop>> loop = Loop::make({.engine = options.engine});
  if (!loop) return std::unexpected(fmt::format("cannot create the event loop: {}", loop.error().message()));
  if ((*loop)->engine().name() == "select") {
    if (std::string misfit = select_misfit(*pairs); !misfit.empty()) return std::unexpected(misfit);
  }
  return Ring(options, **loop, *pairs).run();
}

}  // namespace peal::load
