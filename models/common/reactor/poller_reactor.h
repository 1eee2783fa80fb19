// SPDX-License-Identifier: BSD-3-Clause
// PollerReactor: the reactor pattern over any poller. A handler is registered for each fd, and is called when that fd
// is ready. The reactor does not know what the handlers do. Use it on one thread only.
//
//   wait ──> for each ready fd: its handler ──> the owner, once a batch ──> wait until the owner's next deadline
#pragma once

#include <memory>
#include <vector>

#include <models/common/reactor/ready_poller.h>

namespace peal::models {

class PollerReactor {
 public:
  class Handler {
   public:
    // Called when the poller has reported that `fd` is ready. During this call, the handler may add, change and remove
    // any fd, and may be destroyed. The handler must be prepared for EAGAIN when it reads or writes, because `fd` may
    // no longer be ready. For example, one wait has reported several ready fds, and the handler of an earlier fd has
    // closed `fd`. A new socket, which is not ready, has got the same fd number.
    virtual void on_ready(int fd) = 0;

   protected:
    ~Handler() = default;
  };
  // The object that uses the reactor. The reactor asks next_deadline() how long it may wait for events. After each
  // wait, the reactor first calls the handlers of the ready fds, and then after_batch().
  class Owner {
   public:
    // Returns the time until which the reactor may wait for events. At this time, the reactor calls after_batch(), even
    // if no fd is ready. Returns kNever if there is no time limit.
    virtual TimePoint next_deadline() const = 0;
    virtual void after_batch() = 0;

   protected:
    ~Owner() = default;
  };

  // Creates a reactor that waits with a poller of the kind `kind`. Fails with EMFILE if no fd is free.
  static Result<std::unique_ptr<PollerReactor>> make(PollerKind kind, size_t events_per_wait);

  // add() makes the reactor call `handler` each time the event `what` is possible on `fd`. change() replaces the event
  // of `fd`. remove() removes `fd` and its handler from the reactor. The handler must exist until remove() is called.
  // add() fails in the same cases as ReadyPoller::add().
  Result<void> add(int fd, PollFor what, Handler& handler, Wake wake = Wake::kAll);
  void change(int fd, PollFor what);
  void remove(int fd);

  // Waits for events and calls the handlers, again and again, until a handler or the owner calls stop(). Fails if a
  // wait fails.
  Result<void> run(Owner& owner);
  void stop() { stopping_ = true; }

 private:
  explicit PollerReactor(std::unique_ptr<ReadyPoller> poller) : poller_(std::move(poller)) {}

  const std::unique_ptr<ReadyPoller> poller_;
  std::vector<Handler*> handlers_;  // indexed by fd
  bool stopping_ = false;
};

}  // namespace peal::models
