// SPDX-License-Identifier: BSD-3-Clause
// CoroutineLoop: an epoll(7) loop on one thread, for stackful and stackless coroutines. A coroutine tries a system call
// on a socket. After EAGAIN, the coroutine waits, and the loop resumes it in one of these cases:
// - The epoll reports an event of the socket.
// - The client of the socket was too slow.
// - The loop is stopping.
//
//        ┌──> resume those who are ready ──> epoll_wait ──> resume who waits at each socket ──> resume the late ─┐
//        └───────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// Sockets are registered edge-triggered, and stay registered. No event is missed, because a coroutine waits only after
// EAGAIN: bytes that arrive later cause a new event. A coroutine that always finds something to read lets other
// coroutines run after 64 attempts. Use a loop only on the thread that calls run().
#pragma once

#include <sys/epoll.h>

#include <memory>
#include <vector>

#include <models/common/coroutine/slow_list.h>
#include <models/common/coroutine/waiter.h>
#include <models/common/model_options.h>
#include <models/common/stop.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::models {

class CoCondition;

class CoroutineLoop {
 public:
  // Creates a loop with a new epoll(7), which also contains the fd of `stop`. Fails with an error of epoll_create1(2)
  // or epoll_ctl(2). `options` and `stop` must outlive the loop.
  static Result<std::unique_ptr<CoroutineLoop>> make(const ModelOptions& options, const Stop& stop);
  ~CoroutineLoop();
  CoroutineLoop(const CoroutineLoop&) = delete;
  CoroutineLoop& operator=(const CoroutineLoop&) = delete;

  // Runs the coroutines that begin() has registered. Returns when all of them have ended. When SIGTERM or SIGINT
  // arrives, the loop resumes every waiting coroutine, and stopping() becomes true. Each coroutine then has to end. If
  // epoll_wait(2) fails, run() ends the coroutines in the same way and returns the error.
  Result<void> run();

  // begin() registers a new coroutine, which the loop starts later. For each coroutine that has ended, ended() must be
  // called once, because the loop counts its coroutines. CoTask and FiberPool make both calls for their coroutines.
  // run() returns when ended() was called as often as begin().
  void begin(Waiter& coroutine);
  void ended();
  // Schedules the coroutine `waiter`. The loop resumes the coroutine later, never during this call.
  void make_ready(Waiter& waiter) { ready_.push_back(waiter); }

  // True if the loop is stopping. In this case, a coroutine must not wait any more: it has to end.
  bool stopping() const { return stopping_; }
  // True if SIGTERM or SIGINT has arrived. Call stop_asked() after the long work of a request, because the loop sees no
  // signal during the work. To save system calls, stop_asked() asks the kernel at most once in 5 ms. Further calls in
  // these 5 ms return the previous answer.
  bool stop_asked();

 private:
  friend class CoSocket;
  friend class CoCondition;

  CoroutineLoop(const ModelOptions& options, const Stop& stop, Fd epoll);
  void run_ready();
  void handle(int events);
  void resume_late();
  int timeout_ms(bool active) const;
  void unwind();

  const ModelOptions& options_;
  const Stop& stop_;
  Fd epoll_;
  std::vector<epoll_event> events_;
  WaitList ready_;
  WaitList at_sockets_;
  std::vector<CoCondition*> conditions_;
  SlowList slow_;
  SlowList pauses_;
  TimePoint looked_;
  size_t live_ = 0;  // number of coroutines that have begun and not ended
  bool stopping_ = false;
};

}  // namespace peal::models
