// SPDX-License-Identifier: BSD-3-Clause
// coroutine_condition_stackless: coroutine_condition with C++20 coroutines. Read the two files side by side.
//
//   producer:  accept ──> wait while the list is long ──> put in the list ──> notify a consumer
//   consumer:  wait while the list is empty ──> take ──> notify the producer ──> read ─> frames ─> work ─> write ...
//
// A producer coroutine accepts connections and appends them to the list. A consumer coroutine takes a connection from
// the list. It reads, computes and writes for that connection until the connection ends. There are at most --coroutines
// consumers. Another consumer is started only if none waits. A connection that finds all consumers busy waits in the
// list, and is counted. When the list has kMostUntaken connections, the producer waits, and further connections stay in
// the backlog.
//
// When a process has accepted --served-per-lifetime connections, it accepts no more, and a new process continues
// (lifetimes.h).
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections.
#include <list>

#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/stackless_echo.h>
#include <models/common/workers/lifetimes.h>
#include <models/models.h>

namespace peal::models {
namespace {

class StacklessConditionServer {
 public:
  StacklessConditionServer(CoroutineLoop& loop, ModelRun& run, const std::function<void()>& make_room)
      : echo_(loop, run.options, run.statistics),
        listener_(loop, std::move(run.listener)),
        came_(loop),
        taken_(loop),
        make_room_(make_room) {}

  Result<void> run() {
    produce().start(echo_.loop());
    return echo_.loop().run();
  }

 private:
  CoTask<void> produce() {
    const size_t most = echo_.options().served_per_lifetime;
    for (size_t accepted = 0; most == 0 || accepted < most; ++accepted) {
      std::optional<Fd> next = co_await echo_.accept(listener_);
      if (!next) co_return;
      echo_.count_waiting(came_.anybody_waits() || start_consumer());
      while (list_.size() >= kMostUntaken && !echo_.loop().stopping()) co_await taken_.wait();
      list_.push_back(std::move(*next));
      came_.notify_one();
    }
    listener_.forget();
    make_room_();
    no_more_ = true;
    came_.notify_all();
  }
  CoTask<void> consume() {
    for (;;) {
      while (list_.empty() && !no_more_ && !echo_.loop().stopping()) co_await came_.wait();
      if (list_.empty()) co_return;
      Fd next = std::move(list_.front());
      list_.pop_front();
      taken_.notify_one();
      co_await echo_.serve(std::move(next));
    }
  }
  // Starts one more consumer, a coroutine that serves connections. Returns false if the number of consumers has reached
  // the limit, --coroutines.
  bool start_consumer() {
    if (consumers_ == echo_.options().coroutines) return false;
    ++consumers_;
    consume().start(echo_.loop());
    return true;
  }

  StacklessEcho echo_;
  CoSocket listener_;
  std::list<Fd> list_;
  CoCondition came_;
  CoCondition taken_;
  const std::function<void()>& make_room_;
  size_t consumers_ = 0;
  bool no_more_ = false;  // true: the producer adds no more connections to the list
};

}  // namespace

Result<void> coroutine_condition_stackless(ModelRun& run) {
  return run_lifetimes(run, [](CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room) {
    return StacklessConditionServer(loop, own, make_room).run();
  });
}

}  // namespace peal::models
