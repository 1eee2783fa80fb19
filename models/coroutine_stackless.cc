// SPDX-License-Identifier: BSD-3-Clause
// coroutine_stackless: coroutine_stackful with C++20 coroutines. Read the two files side by side.
//
//   acceptor:           accept ──> start a coroutine with the connection ──> accept the next
//   each connection:    read ─> frames ─> work ─> write ─> read ...
//                         └─ EAGAIN: it returns to the loop; what it needs to go on is in its frame
//
// One coroutine accepts connections. Each connection has its own coroutine, which reads, computes and writes. All
// coroutines share one thread. A connection is handed over only once, when it gets its coroutine. There are no stacks,
// so no pool of stacks is needed. The frame of a coroutine has a few hundred bytes, and lives from the beginning to the
// end of its connection. When --coroutines connections are served, the next one waits and is counted, as in
// coroutine_stackful.
//
// Limits: the model uses only one CPU, and a request that computes delays all other connections. Only a function that
// is a coroutine itself can wait.
#include <models/common/coroutine/co_condition.h>
#include <models/common/coroutine/stackless_echo.h>
#include <models/models.h>

namespace peal::models {
namespace {

class StacklessServer {
 public:
  StacklessServer(CoroutineLoop& loop, ModelRun& run)
      : echo_(loop, run.options, run.statistics), listener_(loop, std::move(run.listener)), free_(loop) {}

  Result<void> run() {
    accept_all().start(echo_.loop());
    return echo_.loop().run();
  }

 private:
  CoTask<void> accept_all() {
    std::optional<Fd> next = co_await echo_.accept(listener_);
    while (next) {
      echo_.count_waiting(any_free());
      while (!any_free() && !echo_.loop().stopping()) co_await free_.wait();
      ++serving_;
      serve(std::move(*next)).start(echo_.loop());
      next = co_await echo_.accept(listener_);
    }
  }
  CoTask<void> serve(Fd connection) {
    co_await echo_.serve(std::move(connection));
    --serving_;
    free_.notify_one();
  }
  bool any_free() const { return serving_ < echo_.options().coroutines; }

  StacklessEcho echo_;
  CoSocket listener_;
  CoCondition free_;
  size_t serving_ = 0;
};

}  // namespace

Result<void> coroutine_stackless(ModelRun& run) {
  Result<std::unique_ptr<CoroutineLoop>> loop = CoroutineLoop::make(run.options, run.stop);
  if (!loop) return std::unexpected(loop.error());
  return StacklessServer(**loop, run).run();
}

}  // namespace peal::models
