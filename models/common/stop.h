// SPDX-License-Identifier: BSD-3-Clause
// Stop: how SIGTERM and SIGINT end a model. make() blocks these signals in the calling thread, and so in all threads
// that are started later. A Stop does not remove a signal that has arrived. The signal stays pending, so all code of
// the process can see it.
//
// A thread that waits for events also waits for fd(). Threads that sleep in blocking calls need a BlockedThreads, which
// has a thread of its own. That thread waits for the signal, then shuts down the sockets of the blocking calls. The
// shutdown wakes the sleeping threads.
//
// A forked process has two choices, and worker_processes.h offers both:
// - The process makes a Stop of its own.
// - The process unblocks the signals, so that they end it.
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

  // Returns an fd that becomes readable when SIGTERM or SIGINT arrives. Afterwards the fd stays readable, because
  // nobody reads from it. May be called on any thread.
  int fd() const { return fd_.get(); }
  // True if SIGTERM or SIGINT has arrived. Makes a system call. May be called on any thread.
  bool asked() const;

  // Creates an epoll(7) that contains fd(). After SIGTERM or SIGINT has arrived, every epoll_wait(2) returns an event
  // for fd(). In this event, `data.ptr` is null, so that the caller can distinguish the event from the events of its
  // own fds.
  Result<Fd> make_epoll() const;
  // Returns the signals that end a model: SIGTERM and SIGINT.
  static sigset_t signals();

 private:
  explicit Stop(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

// Wakes threads that sleep in blocking calls on sockets. A Place registers each of these sockets. When SIGTERM or
// SIGINT arrives, a BlockedThreads shuts the registered sockets down, so that the calls return.
class BlockedThreads {
 public:
  // Starts a thread that waits for SIGTERM or SIGINT. `stop` must outlive the BlockedThreads. Errors:
  // - EAGAIN: the thread cannot be started.
  // - EMFILE or ENFILE: no fd is free in the process (EMFILE) or in the whole system (ENFILE).
  // - ENOMEM: the kernel has no memory for the eventfd that ends the thread.
  static Result<std::unique_ptr<BlockedThreads>> start(const Stop& stop);
  ~BlockedThreads();
  BlockedThreads(const BlockedThreads&) = delete;
  BlockedThreads& operator=(const BlockedThreads&) = delete;

  // True after the thread of this object has seen SIGTERM or SIGINT, or after wake_all() was called. Every registered
  // socket (see Place) is shut down immediately after stopping() has become true. After the shutdown, a blocking call
  // on the socket returns without waiting. stopping() makes no system call. May be called on any thread.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  // Shuts down every registered socket (see Place). This wakes the threads that are blocked in calls on these sockets.
  // SIGTERM and SIGINT have the same effect. May be called on any thread.
  void wake_all();

  // A Place registers one socket, on which a thread is going to make blocking calls. Its destructor removes the
  // registration. If stopping() is already true, the constructor shuts the socket down. A socket must have at most one
  // Place. The socket must stay open as long as its Place exists. Otherwise a new socket could get the same fd, and the
  // BlockedThreads would shut down the new socket. A Place may be constructed and destroyed on any thread.
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
  // Blocks the calling thread until no socket has a Place any more.
  void wait_until_left();

 private:
  explicit BlockedThreads(const Stop& stop) : stop_(stop) {}

  const Stop& stop_;
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  Condition left_;
  std::unordered_set<int> sockets_ PEAL_GUARDED_BY(mutex_);
  Fd end_;  // an eventfd that becomes readable when thread_ has to end without a signal
  Thread thread_;
};

}  // namespace peal::models
