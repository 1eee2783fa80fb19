// SPDX-License-Identifier: BSD-3-Clause
// Proactor: its user requests operations, and is called when they are done. In a true proactor, the kernel itself reads
// and writes. This proactor is built on a reactor, which only reports that a socket is ready. The proactor then reads
// or writes.
//
//   accept, read, write ──> the operation waits at its fd ──> ready: it is done ──> queue of completions ──┐
//        ^                   (a write is tried at once)                                                     │
//        └────────────────────────── the owner of the fd, one completion after another <────────────────────┘
//
// A completion is never reported inside the call that requested the operation. Therefore a chain of operations does not
// grow the stack. Use a Proactor on one thread only.
#pragma once

#include <deque>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/poller_reactor.h>

namespace peal::models {

class Proactor final : private PollerReactor::Owner, private PollerReactor::Handler {
 public:
  // The object that requests the operations on an fd. When an operation has ended, the proactor calls one of the
  // functions below. During that call, the initiator may request the next operation, detach its fd, and destroy itself.
  class Initiator {
   public:
    virtual void on_accepted(Accepted) {}
    // The argument of on_read() and on_written() is the result of the operation: the outcome, and the number of bytes.
    // The outcome is never kWouldBlock, because an operation that would block has not ended. The proactor tries that
    // operation again when the fd is ready.
    virtual void on_read(Moved) {}
    virtual void on_written(Moved) {}

   protected:
    ~Initiator() = default;
  };
  // The type of the object that tells the proactor how long it may wait for events. The proactor also calls this object
  // after each batch of events.
  using Timekeeper = PollerReactor::Owner;

  explicit Proactor(PollerReactor& reactor) : reactor_(reactor) {}

  // Adds `fd` to the proactor. From then on, `initiator` gets the results of the operations on `fd`. `initiator` must
  // exist until detach() is called. attach() fails in the same cases as ReadyPoller::add().
  Result<void> attach(int fd, Initiator& initiator);
  // Removes `fd` from the proactor, and cancels its operation. If the operation has already ended, but its result was
  // not reported yet, discards the result. Call detach() before you close `fd`.
  void detach(int fd);

  // accept(), read() and write() request an operation on `fd`. `fd` must be non-blocking, and its previous operation
  // must have ended. The buffer of a read or write must exist until the operation has ended.
  void accept(int fd) { ask(fd, Operation::kAccept, nullptr); }
  void read(int fd, EchoBytes& into) { ask(fd, Operation::kRead, &into); }
  void write(int fd, EchoBytes& from);  // the operation ends when at least a part of the answer is sent

  // Waits for events, executes the requested operations, and reports their results. Returns after stop() was called.
  // Fails if a wait fails.
  Result<void> run(Timekeeper& timekeeper);
  void stop() { reactor_.stop(); }

 private:
  enum class Operation : uint8_t { kNone, kAccept, kRead, kWrite };
  // The proactor's data about one fd: its initiator, and the operation that was requested but has not ended.
  struct Place {
    Initiator* initiator = nullptr;
    EchoBytes* buffer = nullptr;
    Operation operation = Operation::kNone;
    PollFor asked = PollFor::kNothing;
    uint32_t generation = 0;  // counts the initiators of this fd; a completion of an earlier one is dropped
  };
  struct Completion {
    int fd;
    uint32_t generation;
    Operation operation;
    Moved moved;
    Fd accepted;
  };

  Place& place(int fd) { return places_[static_cast<size_t>(fd)]; }
  void ask(int fd, Operation operation, EchoBytes* buffer);
  bool attempt(int fd, Place& place);
  void complete(int fd, Place& place, Moved moved, Fd accepted = {});
  void deliver_all();
  void on_ready(int fd) override;
  TimePoint next_deadline() const override { return timekeeper_->next_deadline(); }
  void after_batch() override;

  PollerReactor& reactor_;
  Timekeeper* timekeeper_ = nullptr;
  std::vector<Place> places_;  // indexed by fd
  std::deque<Completion> completions_;
};

}  // namespace peal::models
