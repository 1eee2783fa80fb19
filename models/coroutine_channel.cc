// SPDX-License-Identifier: BSD-3-Clause
// coroutine_channel (EpollReactorSingleProcessCoroutineHSHA1): one coroutine accepts, others serve, and between them is
// a channel, as in Go; all on one thread.
//
//   producer:  accept ──> send ──> [ channel, bounded ] ──> take ──> consumer: read ─> frames ─> work ─> write ...
//                waits while it is full                  waits while it is empty; serves to the end, takes the next
//
// Who accepts: the producer. Who reads, computes and writes: the consumer that took the connection, a stackful
// coroutine, up to --coroutines of them; another is started only when none waits at the channel. A connection that
// finds all of them serving waits in the channel and is counted; when that is full the producer waits, and the rest is
// in the backlog.
//
// After --served-per-lifetime connections the process makes room for a fresh one (lifetimes.h).
//
// What it cannot do: use a second processor; keep others going while one request computes.
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
  // False: there may be no more of them.
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
