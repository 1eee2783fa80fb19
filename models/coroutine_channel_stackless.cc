// SPDX-License-Identifier: BSD-3-Clause
// coroutine_channel_stackless: coroutine_channel with C++20 coroutines. Read the two files side by side.
//
//   producer:  accept ──> send ──> [ channel, bounded ] ──> take ──> consumer: read ─> frames ─> work ─> write ...
//                waits while it is full                  waits while it is empty; serves to the end, takes the next
//
// A producer coroutine accepts connections and sends them into the channel. A consumer coroutine takes a connection
// from the channel. It reads, computes and writes for that connection until the connection ends. There are at most
// --coroutines consumers. Another consumer is started only if none waits at the channel. A connection that finds all
// consumers busy waits in the channel, and is counted. When the channel is full, the producer waits, and further
// connections stay in the backlog.
//
// When a process has accepted --served-per-lifetime connections, it accepts no more, and a new process continues
// (lifetimes.h).
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections.
#include <models/common/coroutine/co_channel.h>
#include <models/common/coroutine/stackless_echo.h>
#include <models/common/workers/lifetimes.h>
#include <models/models.h>

namespace peal::models {
namespace {

class StacklessChannelServer {
 public:
  StacklessChannelServer(CoroutineLoop& loop, ModelRun& run, const std::function<void()>& make_room)
      : echo_(loop, run.options, run.statistics),
        listener_(loop, std::move(run.listener)),
        channel_(loop, kMostUntaken),
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
      echo_.count_waiting(channel_.taker_waits() || start_consumer());
      co_await channel_.send(*next);
    }
    listener_.forget();
    make_room_();
    channel_.close();
  }
  CoTask<void> consume() {
    std::optional<Fd> next = co_await channel_.take();
    while (next) {
      co_await echo_.serve(std::move(*next));
      next = co_await channel_.take();
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
  CoChannel<Fd> channel_;
  const std::function<void()>& make_room_;
  size_t consumers_ = 0;
};

}  // namespace

Result<void> coroutine_channel_stackless(ModelRun& run) {
  return run_lifetimes(run, [](CoroutineLoop& loop, ModelRun& own, const std::function<void()>& make_room) {
    return StacklessChannelServer(loop, own, make_room).run();
  });
}

}  // namespace peal::models
