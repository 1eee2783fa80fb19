// SPDX-License-Identifier: BSD-3-Clause
// coroutine_stackful (EpollReactorSingleProcessCoroutine): code that looks blocking, on one thread that never blocks.
//
//   acceptor:           accept ──> take a coroutine from the pool ──> give it the connection ──> accept the next
//   each connection:    read ─> frames ─> work ─> write ─> read ...
//                         └─ EAGAIN: its stack is left as it is, and gone on with when epoll reports the socket
//
// One coroutine, the acceptor, accepts connections. Each connection has a coroutine with its own stack, which reads,
// computes and writes. All coroutines share one thread. A connection is handed over only once, from the acceptor to its
// coroutine.
//
// The pool has --coroutines coroutines. When all are in use, the acceptor holds the connection that it has accepted
// until a coroutine is free. Further connections stay in the backlog, which is already a bounded queue. Each connection
// that had to wait is counted. With --dynamic-timeout, the loop first checks for events without sleeping if the last
// wait returned events.
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections. Besides its buffer, a
// connection costs all stack memory that it has ever touched, which is at least 8 KiB.
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
