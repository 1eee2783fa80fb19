// SPDX-License-Identifier: BSD-3-Clause
// Stop: how SIGTERM and SIGINT end a model. The signals are blocked from its construction on, in the threads that are
// started later too, and none is ever taken: what is pending stays pending, and everybody sees it.
//
// Who waits for events adds fd() to what it waits for. Who sleeps in blocking calls has a BlockedThreads beside it: a
// thread that waits for the signal and then shuts down the sockets they sleep on, which wakes them. A process that is
// forked makes a Stop of its own, or takes the signals as they come (WorkerProcesses does that).
#pragma once

#include <atomic>
#include <csignal>
#include <memory>
#include <unordered_set>

#include <peal/base/fd.h>
#include <peal/base/mutex.h>
#include <peal/base/result.h>
#include <peal/base/thread/thread.h>

namespace peal::models {

class Stop {
 public:
  static Result<Stop> make();

  // Readable once a signal came, and from then on; level-triggered, never read. Any thread.
  int fd() const { return fd_.get(); }
  // A system call. Any thread.
  bool asked() const;

  // An epoll(7) that reports it, level-triggered, with a null pointer.
  Result<Fd> make_epoll() const;
  // The signals that end a model.
  static sigset_t signals();

 private:
  explicit Stop(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

class BlockedThreads {
 public:
  // EAGAIN: there is no thread left. The BlockedThreads refers to nothing but `stop`, which outlives it.
  static Result<std::unique_ptr<BlockedThreads>> start(const Stop& stop);
  ~BlockedThreads();
  BlockedThreads(const BlockedThreads&) = delete;
  BlockedThreads& operator=(const BlockedThreads&) = delete;

  // Any thread, no system call. From then on every blocking accept, read and write on a socket with a Place ends.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  // What the signal does, without it. Any thread.
  void wake_all();

  // A socket somebody may sleep on, as long as this lives; the socket outlives it. Any thread.
  class Place {
   public:
    Place(BlockedThreads& sleepers, int socket);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    BlockedThreads& sleepers_;
    const int socket_;
  };
  // Waits until no Place is left.
  void wait_until_left();

 private:
  explicit BlockedThreads(const Stop& stop) : stop_(stop) {}

  const Stop& stop_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Condition left_;
  std::unordered_set<int> sockets_ PEAL_GUARDED_BY(mutex_);
  Fd end_;  // becomes readable when the thread shall end without a signal
  Thread thread_;
};

}  // namespace peal::models
