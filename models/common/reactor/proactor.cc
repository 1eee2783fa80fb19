// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/reactor/proactor.h>

#include <utility>

#include <models/common/reactor/by_fd.h>
#include <peal/base/assert.h>

namespace peal::models {

Result<void> Proactor::attach(int fd, Initiator& initiator) {
  Place& its = entry_of(places_, fd);
  PEAL_ASSERT(its.initiator == nullptr, "fd {} is attached already", fd);
  its = {.initiator = &initiator, .asked = PollFor::kRead, .generation = its.generation + 1};
  Result<void> added = reactor_.add(fd, PollFor::kRead, *this);
  if (!added) its.initiator = nullptr;
  return added;
}

void Proactor::detach(int fd) {
  reactor_.remove(fd);
  place(fd) = {.generation = place(fd).generation};
}

// Stores the operation, which is executed when `fd` is ready. Calls reactor_.change() only if `fd` is registered for
// another event than the operation needs. attach() has registered `fd` for reading, so the first read or accept needs
// no change. write() first tries to send immediately, and calls ask() only if the system call would block. Therefore a
// connection whose answers are always sent immediately never causes a call of reactor_.change().
void Proactor::ask(int fd, Operation operation, EchoBytes* buffer) {
  Place& its = place(fd);
  PEAL_ASSERT(its.operation == Operation::kNone, "fd {} has an operation under way", fd);
  its.operation = operation;
  its.buffer = buffer;
  const PollFor wanted = operation == Operation::kWrite ? PollFor::kWrite : PollFor::kRead;
  if (std::exchange(its.asked, wanted) != wanted) reactor_.change(fd, wanted);
}

void Proactor::write(int fd, EchoBytes& from) {
  Place& its = place(fd);
  PEAL_ASSERT(its.operation == Operation::kNone, "fd {} has an operation under way", fd);
  its.operation = Operation::kWrite;
  its.buffer = &from;
  if (attempt(fd, its)) return;
  its.operation = Operation::kNone;
  ask(fd, Operation::kWrite, &from);
}

void Proactor::on_ready(int fd) {
  Place& its = place(fd);
  if (its.operation != Operation::kNone) attempt(fd, its);
}

// Tries to execute the operation of `fd` now. Returns false if the system call would block. Otherwise appends the
// result to the queue of completions, and returns true.
bool Proactor::attempt(int fd, Place& its) {
  if (its.operation == Operation::kAccept) {
    Accepted next = accept_one(fd, Blocking::kNo);
    if (next.did == CallOutcome::kWouldBlock) return false;
    complete(fd, its, {next.did}, std::move(next.socket));
    return true;
  }
  const Moved moved = its.operation == Operation::kRead ? read_some(fd, *its.buffer) : write_some(fd, *its.buffer);
  if (moved.did == CallOutcome::kWouldBlock) return false;
  complete(fd, its, moved);
  return true;
}

void Proactor::complete(int fd, Place& its, Moved moved, Fd accepted) {
  const Operation done = std::exchange(its.operation, Operation::kNone);
  completions_.push_back({fd, its.generation, done, moved, std::move(accepted)});
}

void Proactor::after_batch() {
  deliver_all();
  timekeeper_->after_batch();
  // The timekeeper's after_batch() may have requested a write that was done immediately. The result of this write must
  // be reported before the next wait.
  deliver_all();
}

// Reports every completion in the queue to its initiator. An initiator may add further completions to the queue, and
// these are reported too. So the queue is empty before the poller waits again.
void Proactor::deliver_all() {
  while (!completions_.empty()) {
    Completion next = std::move(completions_.front());
    completions_.pop_front();
    const Place& its = place(next.fd);
    if (its.initiator == nullptr || its.generation != next.generation) continue;
    switch (next.operation) {
      case Operation::kAccept: its.initiator->on_accepted({next.moved.did, std::move(next.accepted)}); break;
      case Operation::kRead: its.initiator->on_read(next.moved); break;
      case Operation::kWrite: its.initiator->on_written(next.moved); break;
      case Operation::kNone: break;
    }
  }
}

Result<void> Proactor::run(Timekeeper& timekeeper) {
  timekeeper_ = &timekeeper;
  return reactor_.run(*this);
}

}  // namespace peal::models
