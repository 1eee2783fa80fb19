// SPDX-License-Identifier: BSD-3-Clause
// Proactor: operations are asked for and their ends come back, over a reactor, which knows readiness only. The kernel
// of a true proactor does the reading and writing; here it is done beside the loop, when the fd is ready:
//
//   accept, read, write ──> the operation waits at its fd ──> ready: it is done ──> queue of completions ──┐
//        ^                   (a write is tried at once)                                                     │
//        └────────────────────────── the owner of the fd, one completion after another <────────────────────┘
//
// A completion never comes inside the call that asked for it, so no chain of operations grows the stack. One thread.
#pragma once

#include <deque>
#include <vector>

#include <models/common/plain_sockets.h>
#include <models/common/reactor/poller_reactor.h>

namespace peal::models {

class Proactor final : private PollerReactor::Owner, private PollerReactor::Handler {
 public:
  // Who asked: is told the end of each operation, and may ask for the next, detach its fd and destroy itself there.
  class Initiator {
   public:
    virtual void on_accepted(Accepted) {}
    // Never kWouldBlock.
    virtual void on_read(Moved) {}
    virtual void on_written(Moved) {}

   protected:
    ~Initiator() = default;
  };
  // Who minds the time.
  using Timekeeper = PollerReactor::Owner;

  explicit Proactor(PollerReactor& reactor) : reactor_(reactor) {}

  // The fd's operations are this one's from now on. As ReadyPoller::add().
  Result<void> attach(int fd, Initiator& initiator);
  // Its operation, and a completion under way, are forgotten. Before it is closed.
  void detach(int fd);

  // One operation at a time for each fd, which does not block. The buffer lives until the completion.
  void accept(int fd) { ask(fd, Operation::kAccept, nullptr); }
  void read(int fd, EchoBytes& into) { ask(fd, Operation::kRead, &into); }
  void write(int fd, EchoBytes& from);  // some of the answer

  // Until stop().
  Result<void> run(Timekeeper& timekeeper);
  void stop() { reactor_.stop(); }

 private:
  enum class Operation : uint8_t { kNone, kAccept, kRead, kWrite };
  // What is known of an fd.
  struct Place {
    Initiator* initiator = nullptr;
    EchoBytes* buffer = nullptr;
    Operation operation = Operation::kNone;
    PollFor asked = PollFor::kNothing;
    uint32_t generation = 0;  // of those that had this fd
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
  std::vector<Place> places_;  // by fd
  std::deque<Completion> completions_;
};

}  // namespace peal::models
