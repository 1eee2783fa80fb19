// SPDX-License-Identifier: BSD-3-Clause
// CoroutineLoop: one thread's epoll(7) for coroutines of either kind. A coroutine tries its system call; on EAGAIN it
// waits at the socket and is resumed when the kernel reports it, when its client was too slow, or when all is to end.
//
//        ┌──> resume those who are ready ──> epoll_wait ──> resume who waits at each socket ──> resume the late ─┐
//        └───────────────────────────────────────────────────────────────────────────────────────────────────────┘
//
// Sockets are registered once, edge-triggered: who waits has seen EAGAIN, and the next edge comes after that. Whoever
// always finds something to read gives way after some tries, or it would starve the others.
// Belongs to the thread that runs it.
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
  // epoll_create1(2), or the adding of the stop signal, failed. `stop` outlives the loop.
  static Result<std::unique_ptr<CoroutineLoop>> make(const ModelOptions& options, const Stop& stop);
  ~CoroutineLoop();
  CoroutineLoop(const CoroutineLoop&) = delete;
  CoroutineLoop& operator=(const CoroutineLoop&) = delete;

  // Until every coroutine has ended. When the stop is asked each is resumed, finds that its wait failed, and returns.
  Result<void> run();

  // A coroutine begins: it is resumed for the first time when its turn comes. It says when it has ended.
  void begin(Waiter& coroutine);
  void ended();
  // It is resumed when its turn comes.
  void make_ready(Waiter& waiter) { ready_.push_back(waiter); }

  // All is to end: no wait begins any more.
  bool stopping() const { return stopping_; }
  // For who did work that may have taken long: looks, at most every few milliseconds, whether the stop was asked.
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
  size_t live_ = 0;  // coroutines that have begun and not ended
  bool stopping_ = false;
};

}  // namespace peal::models
