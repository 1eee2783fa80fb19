// SPDX-License-Identifier: BSD-3-Clause
// coroutine_stackful (EpollReactorSingleProcessCoroutine): code that looks blocking, on one thread that never blocks.
//
//   acceptor:           accept ──> take a coroutine from the pool ──> give it the connection ──> accept the next
//   each connection:    read ─> frames ─> work ─> write ─> read ...
//                         └─ EAGAIN: its stack is left as it is, and gone on with when epoll reports the socket
//
// Who accepts: a coroutine. Who reads, computes and writes: the connection's own, on a stack of its own. All take turns
// on one thread; work changes hands only when a connection gets its coroutine.
//
// The pool has --coroutines of them. When all are taken the acceptor holds the one connection it has until a coroutine
// is free; the others stay in the backlog, which is a bounded queue already and belongs to nobody that could die. Each
// is counted as having waited. With --dynamic-timeout the loop looks once more, without sleeping, before it sleeps.
//
// What it cannot do: use a second processor; keep others going while one request computes. A connection costs the
// memory its stack has ever touched, 8 KiB or more, besides its buffer.
#include <models/common/coroutine/fiber_pool.h>
#include <models/common/coroutine/stackful_echo.h>
#include <models/models.h>

namespace peal::models {
namespace {

class StackfulServer {
 public:
  StackfulServer(CoroutineLoop& loop, ModelRun& run)
      : echo_(loop, run.options, run.statistics),
        listener_(loop, std::move(run.listener)),
        acceptor_(loop, run.options.contexts, 1),
        pool_(loop, run.options.contexts, run.options.coroutines) {}

  Result<void> run() {
    Fiber::Body body = [this](Fiber* self) { accept_all(*self); };
    if (!acceptor_.start(body)) return fail(ENOMEM);
    return echo_.loop().run();
  }

 private:
  void accept_all(Fiber& self) {
    while (std::optional<Fd> next = echo_.accept(self, listener_)) {
      Fiber::Body body = [this, connection = std::move(*next)](Fiber* own) mutable {
        echo_.serve(*own, std::move(connection));
      };
      bool started = pool_.start(body);
      echo_.count_waiting(started);
      for (; !started && !echo_.loop().stopping(); started = pool_.start(body)) pool_.free_again().wait(self);
    }
  }

  StackfulEcho echo_;
  CoSocket listener_;
  FiberPool acceptor_;
  FiberPool pool_;
};

}  // namespace

Result<void> coroutine_stackful(ModelRun& run) {
  Result<std::unique_ptr<CoroutineLoop>> loop = CoroutineLoop::make(run.options, run.stop);
  if (!loop) return std::unexpected(loop.error());
  return StackfulServer(**loop, run).run();
}

}  // namespace peal::models
