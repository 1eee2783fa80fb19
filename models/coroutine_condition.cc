// SPDX-License-Identifier: BSD-3-Clause
// coroutine_condition (EpollReactorSingleProcessCoroutineHSHA2): one coroutine accepts, other coroutines serve. A list
// with condition variables connects them, as it would connect threads. There is no lock, because all coroutines run on
// one thread.
//
//   producer:  accept ──> wait while the list is long ──> put in the list ──> notify a consumer
//   consumer:  wait while the list is empty ──> take ──> notify the producer ──> read ─> frames ─> work ─> write ...
//
// A producer coroutine accepts connections and appends them to the list. A consumer coroutine takes a connection from
// the list. It reads, computes and writes for that connection until the connection ends. The consumers are stackful
// coroutines, at most --coroutines of them. Another consumer is started only if none waits. A connection that finds all
// consumers busy waits in the list, and is counted. When the list has kMostUntaken connections, the producer waits, and
// further connections stay in the backlog.
//
// In the model coroutine_channel, a channel does the waiting. Here the waiting is explicit: each coroutine waits on a
// condition variable, and checks its condition again when it is resumed.
//
// When a process has accepted --served-per-lifetime connections, it accepts no more, and a new process continues
// (lifetimes.h).
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections.
#include <list>

#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/fiber_pool.h>
#include <models/common/coroutine/stackful_echo.h>
#include <models/common/workers/lifetimes.h>
#include <models/models.h>

namespace peal::models {
namespace {

class ConditionServer {
 public:
  ConditionServer(CoroutineLoop& loop, ModelRun& run, const std::function<void()>& make_room)
      : echo_(loop, run.options, run.statistics),
        listener_(loop, std::move(run.listener)),
        came_(loop),
        taken_(loop),
        producer_(loop, run.options.contexts, 1),
        consumers_(loop, run.options.contexts, run.options.coroutines),
        make_room_(make_room) {}

  Result<void> run() {
    Fiber::Body body = [this](Fiber* self) { produce(*self); };
    if (!producer_.start(body)) return fail(ENOMEM);
    return echo_.loop().run();
  }

 private:
  void produce(Fiber& self) {
    const size_t most = echo_.options().served_per_lifetime;
    for (size_t accepted = 0; most == 0 || accepted < most; ++accepted) {
      std::optional<Fd> next = echo_.accept(self, listener_);
      if (!next) return;
      echo_.count_waiting(came_.anybody_waits() || start_consumer());
      while (list_.size() >= kMostUntaken && !echo_.loop().stopping()) taken_.wait(self);
      list_.push_back(std::move(*next));
      came_.notify_one();
    }
    listener_.forget();
    make_room_();
    no_more_ = true;
    came_.notify_all();
  }
  void consume(Fiber& self) {
    for (;;) {
      while (list_.empty() && !no_more_ && !echo_.loop().stopping()) came_.wait(self);
      if (list_.empty()) return;
      Fd next = std::move(list_.front());
      list_.pop_front();
      taken_.notify_one();
      echo_.serve(self, std::move(next));
    }
  }
  // Starts one more consumer, a coroutine that serves connections. Returns false in two cases:
  // - The number of consumers has reached the limit, --coroutines.
  // - There is no memory for the stack of another coroutine.
  bool start_consumer() {
    Fiber::Body body = [this](Fiber* self) { consume(*self); };
    return consumers_.start(body);
  }

  StackfulEcho echo_;
  CoSocket listener_;
  std::list<Fd> list_;
  CoCondition came_;
  CoCondition taken_;
  FiberPool producer_;
  FiberPool consumers_;
  const std::function<void()>& make_room_;
  bool no_more_ = false;  // true: the producer adds no more connections to the list
};

}  // namespace

Result<void> coroutine_condition(ModelRun& run) {
  return run_lifetimes(run, [](CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room) {
    return ConditionServer(loop, own, make_room).run();
  });
}

}  // namespace peal::models
