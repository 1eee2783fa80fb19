// SPDX-License-Identifier: BSD-3-Clause
// coroutine_channel (EpollReactorSingleProcessCoroutineHSHA1): one coroutine accepts, other coroutines serve. A
// channel, which is a bounded queue as in Go, connects them. All coroutines run on one thread.
//
//   producer:  accept ──> send ──> [ channel, bounded ] ──> take ──> consumer: read ─> frames ─> work ─> write ...
//                waits while it is full                  waits while it is empty; serves to the end, takes the next
//
// A producer coroutine accepts connections and sends them into the channel. A consumer coroutine takes a connection
// from the channel. It reads, computes and writes for that connection until the connection ends. The consumers are
// stackful coroutines, at most --coroutines of them. Another consumer is started only if none waits at the channel. A
// connection that finds all consumers busy waits in the channel, and is counted. When the channel is full, the producer
// waits, and further connections stay in the backlog.
//
// When a process has accepted --served-per-lifetime connections, it accepts no more, and a new process continues
// (lifetimes.h).
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections.
#include <models/common/coroutine/co_channel.h>
#include <models/common/coroutine/fiber_pool.h>
#include <models/common/coroutine/stackful_echo.h>
#include <models/common/workers/lifetimes.h>
#include <models/models.h>

namespace peal::models {
namespace {

class ChannelServer {
 public:
  ChannelServer(CoroutineLoop& loop, ModelRun& run, const std::function<void()>& make_room)
      : echo_(loop, run.options, run.statistics),
        listener_(loop, std::move(run.listener)),
        channel_(loop, kMostUntaken),
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
      echo_.count_waiting(channel_.taker_waits() || start_consumer());
      channel_.send(self, std::move(*next));
    }
    listener_.forget();
    make_room_();
    channel_.close();
  }
  void consume(Fiber& self) {
    while (std::optional<Fd> next = channel_.take(self)) echo_.serve(self, std::move(*next));
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
  CoChannel<Fd> channel_;
  FiberPool producer_;
  FiberPool consumers_;
  const std::function<void()>& make_room_;
};

}  // namespace

Result<void> coroutine_channel(ModelRun& run) {
  return run_lifetimes(run, [](CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room) {
    return ChannelServer(loop, own, make_room).run();
  });
}

}  // namespace peal::models
