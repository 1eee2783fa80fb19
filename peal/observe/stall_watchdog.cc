// SPDX-License-Identifier: BSD-3-Clause
#include <peal/observe/stall_watchdog.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <peal/base/assert.h>
#include <peal/base/log.h>
#include <peal/base/stack_trace.h>
#include <peal/observe/parts/remote_trace.h>

namespace peal {

// How long report() waits for the signal handler. A running thread handles a signal at once. A thread that is waiting
// for a CPU handles it when it runs again.
static constexpr Duration kTraceTimeout = std::chrono::seconds(1);

// If watch() has not been called within this time after the start, a warning is logged.
static constexpr Duration kMostUnused = std::chrono::seconds(1);

// The value of Watched::asked while no task of the watchdog waits in the loop's queue.
static constexpr TimePoint kOwesNothing = kNever;

// A watched loop. The watchdog and the task that it posts to the loop share the ownership of this object.
struct StallWatchdog::Watched {
  Watched(WatchedThread loop, const StallWatchdogOptions& watchdog)
      : queue(std::move(loop.queue)), counts(loop.counts), options(watchdog) {}

  // The body of the task that the watchdog posts; it runs on the loop's thread. The first call stores the thread's id.
  // Every later call counts a stall if the task has waited for the threshold or longer.
  void answer() {
    const Duration owed = options.clock() - asked.load();
    if (thread_id.load() == 0) {
      thread_name = current_thread_name();
      thread_id.store(current_thread_id());
    } else if (owed >= options.threshold) {
      ++counts->stalls;
      counts->longest_stall = std::max(counts->longest_stall, owed);
    }
    asked.store(kOwesNothing);
  }

  const std::shared_ptr<WatchedQueue> queue;
  StallCounts* const counts;  // used only on the loop's thread
  const StallWatchdogOptions options;
  std::string thread_name;           // written once, before thread_id is stored
  std::atomic<pid_t> thread_id = 0;  // 0 until the loop has answered for the first time

  // The time at which the watchdog posted the task that waits in the loop's queue. kOwesNothing if no task waits.
  std::atomic<TimePoint> asked = kOwesNothing;
  bool reported = false;  // true if the pending answer was reported as a stall; used only in look()
};

Result<std::unique_ptr<StallWatchdog>> StallWatchdog::start(const StallWatchdogOptions& options, OnStall on_stall) {
  PEAL_ASSERT(options.threshold > Duration::zero(), "the stall threshold must be above 0, not {} ns",
              options.threshold.count());
  if (const Result<void> opened = detail::open_remote_traces(); !opened) return std::unexpected(opened.error());
  std::unique_ptr<StallWatchdog> made(new StallWatchdog(options, std::move(on_stall)));
  if (!options.own_thread) return made;
  Result<Thread> thread = Thread::start("peal-watchdog", [self = made.get()](const std::stop_token& stop) {
    std::mutex alone;
    std::unique_lock lock(alone);
    while (!stop.stop_requested()) {
      self->look();
      self->stopping_.wait_for(lock, stop, self->options_.threshold / 2, [] { return false; });
    }
  });
  if (!thread) return std::unexpected(thread.error());
  made->thread_ = std::move(*thread);
  return made;
}

StallWatchdog::StallWatchdog(const StallWatchdogOptions& options, OnStall on_stall)
    : options_(options),
      on_stall_(std::move(on_stall)),
      log_limiter_(options.log_interval),
      started_(options.clock()) {}

StallWatchdog::~StallWatchdog() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  detail::close_remote_traces();
}

void StallWatchdog::ask(const std::shared_ptr<Watched>& watched) {
  watched->asked.store(watched->options.clock());
  watched->queue->insist([watched] { watched->answer(); });
}

void StallWatchdog::watch(WatchedThread loop) {
  auto watched = std::make_shared<Watched>(std::move(loop), options_);
  ask(watched);  // at once, because a stall is reported only after the first answer, which has the thread's id
  const std::lock_guard lock(mutex_);
  unused_ = false;
  watched_.push_back(std::move(watched));
}

void StallWatchdog::look() {
  const std::lock_guard looking(looking_);
  std::vector<std::shared_ptr<Watched>> watched_all;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [](const auto& each) { return !each->queue->open(); });
    watched_all = watched_;
    if (unused_ && options_.clock() - started_ >= kMostUnused) {
      unused_ = false;
      PEAL_LOG_WARN("the stall watchdog watches no loop: call its watch() for each loop");
    }
  }
  for (const std::shared_ptr<Watched>& each : watched_all) {
    const TimePoint now = options_.clock();
    const TimePoint asked = each->asked.load();
    if (asked == kOwesNothing) {
      each->reported = false;
      ask(each);
    } else if (now - asked >= options_.threshold && each->thread_id.load() != 0 &&
               !std::exchange(each->reported, true)) {
      report(*each, now - asked);
    }
  }
}

void StallWatchdog::report(const Watched& watched, Duration lasting) {
  Stall stall{.thread_name = watched.thread_name, .thread_id = watched.thread_id.load(), .lasting = lasting};
  stall.found = options_.clock();
  if (const auto seen = detail::trace_thread(stall.thread_id, kTraceTimeout)) {
    stall.what = seen->running != nullptr ? seen->running : "an event";
    stall.stack = describe(seen->trace);
  } else {
    stall.what = "code that cannot be interrupted";
    stall.stack = "no stack: the thread took no signal\n";
  }
  {  // before the log line, so that a reader of that line finds the stall in recent()
    const std::lock_guard lock(mutex_);
    if (recent_.size() == kMostRemembered) recent_.pop_front();
    recent_.push_back(stall);
  }
  if (const auto suppressed = log_limiter_.admit(options_.clock())) {
    PEAL_LOG_WARN("the loop of thread {} ({}) has been held for {} ms by {} ({} more since the last such line)\n{}",
                  stall.thread_name, stall.thread_id, lasting / std::chrono::milliseconds(1), stall.what, *suppressed,
                  LogLines{stall.stack});
  }
  if (on_stall_) on_stall_(stall);
}

std::vector<Stall> StallWatchdog::recent() const {
  const std::lock_guard lock(mutex_);
  return {recent_.begin(), recent_.end()};
}

}  // namespace peal
