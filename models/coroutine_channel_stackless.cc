// SPDX-License-Identifier: BSD-3-Clause
// coroutine_channel_stackless: coroutine_channel with C++20's coroutines; read the two side by side.
//
//   producer:  accept ──> send ──> [ channel, bounded ] ──> take ──> consumer: read ─> frames ─> work ─> write ...
//                waits while it is full                  waits while it is empty; serves to the end, takes the next
//
// Who accepts: the producer. Who reads, computes and writes: the consumer that took the connection, up to --coroutines
// of them; another is started only when none waits at the channel. A connection that finds all of them serving waits in
// the channel and is counted; when that is full the producer waits, and the rest is in the backlog.
//
// After --served-per-lifetime connections the process makes room for a fresh one (lifetimes.h).
//
// What it cannot do: use a second processor; keep others going while one request computes.
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
  // False: there may be no more of them.
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
