// SPDX-License-Identifier: BSD-3-Clause
// PollerReactor: the reactor pattern over whichever poller: handlers are registered for fds, and called when theirs is
// ready. It knows nothing of what they do. One thread.
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
    // May add, change and remove any fd, its own too, and destroy itself. Now and then for nothing: an fd's number may
    // have passed on to another within a batch, so whoever is called makes sure by trying.
    virtual void on_ready(int fd) = 0;

   protected:
    ~Handler() = default;
  };
  // Who minds the time.
  class Owner {
   public:
    // When it wants to be called at the latest; kNever: when there is something else to do.
    virtual TimePoint next_deadline() const = 0;
    virtual void after_batch() = 0;

   protected:
    ~Owner() = default;
  };

  // As ReadyPoller::make().
  static Result<std::unique_ptr<PollerReactor>> make(PollerKind kind, size_t events_per_wait);

  // As ReadyPoller's. The handler lives until the fd is removed.
  Result<void> add(int fd, PollFor what, Handler& handler, Wake wake = Wake::kAll);
  void change(int fd, PollFor what);
  void remove(int fd);

  // Until stop() is called, by a handler or the owner. Errors: those of a wait.
  Result<void> run(Owner& owner);
  void stop() { stopping_ = true; }

 private:
  explicit PollerReactor(std::unique_ptr<ReadyPoller> poller) : poller_(std::move(poller)) {}

  const std::unique_ptr<ReadyPoller> poller_;
  std::vector<Handler*> handlers_;  // by fd
  bool stopping_ = false;
};

}  // namespace peal::models
