// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/co_socket.h>

#include <cerrno>

#include <peal/base/assert.h>
#include <peal/base/log.h>

namespace peal::models {
namespace {

constexpr unsigned kTriesPerTurn = 64;

}  // namespace

std::optional<bool> CoSocket::try_read(EchoBytes& buffer) {
  if (over()) return false;
  if (gives_way()) return std::nullopt;
  return outcome(read_some(fd_.get(), buffer).did);
}

std::optional<bool> CoSocket::try_write(EchoBytes& buffer) {
  if (over()) return false;
  return outcome(write_some(fd_.get(), buffer).did);
}

Accepted CoSocket::try_accept() {
  if (over()) return {CallOutcome::kEnd};
  if (gives_way()) return {CallOutcome::kWouldBlock};
  Accepted next = accept_one(fd_.get(), Blocking::kNo);
  because_ = next.did == CallOutcome::kNoRoom ? BlockedBy::kNoRoom : BlockedBy::kNotReady;
  return next;
}

// Returns true if the socket cannot be used: the loop is stopping, or the socket cannot be added to the epoll.
// try_read(), try_write() and try_accept() call over() first. A coroutine that calls one of them does not wait any
// more, so over() also sets waiter_ to null.
bool CoSocket::over() {
  waiter_ = nullptr;
  return loop_.stopping() || broken_;
}

bool CoSocket::gives_way() {
  if (++tries_ <= kTriesPerTurn) return false;
  because_ = BlockedBy::kOthersTurn;
  return true;
}

std::optional<bool> CoSocket::outcome(CallOutcome did) {
  if (did != CallOutcome::kWouldBlock) {
    late_ = false;
    return did == CallOutcome::kDone;
  }
  because_ = BlockedBy::kNotReady;
  if (!late_) return std::nullopt;
  timed_out_ = true;
  return false;
}

void CoSocket::wait(uint32_t event, const EchoBytes& buffer, Waiter& waiter) {
  link(event, waiter);
  if (waiter_ != nullptr && (buffer.in_frame() || buffer.has_answer())) loop_.slow_.came_on(*this, monotonic_now());
}

void CoSocket::wait_to_accept(Waiter& waiter) {
  const bool no_room = because_ == BlockedBy::kNoRoom;
  link(no_room ? 0U : uint32_t{EPOLLIN}, waiter);
  if (no_room) loop_.pauses_.came_on(*this, monotonic_now());
}

void CoSocket::link(uint32_t event, Waiter& waiter) {
  tries_ = 0;
  if (because_ == BlockedBy::kOthersTurn || !watch(event)) {
    loop_.make_ready(waiter);
    return;
  }
  wanted_ = event;
  waiter_ = &waiter;
  loop_.at_sockets_.push_back(waiter);
}

// Adds `events` to the events of this socket that the epoll reports. Events that were added before stay registered.
// on_events() ignores each event for which no coroutine waits. Returns false if epoll_ctl(2) has failed.
bool CoSocket::watch(uint32_t events) {
  if ((registered_ & events) == events) return true;
  epoll_event event{.events = registered_ | events | EPOLLET, .data = {.ptr = this}};
  const int operation = registered_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (::epoll_ctl(loop_.epoll_.get(), operation, fd_.get(), &event) != 0) {
    PEAL_LOG_WARN("epoll cannot watch a socket, which is no longer served: {}", errno_code(errno).message());
    broken_ = true;
    return false;
  }
  registered_ |= events;
  return true;
}

void CoSocket::forget() {
  if (registered_ == 0) return;
  const int done = ::epoll_ctl(loop_.epoll_.get(), EPOLL_CTL_DEL, fd_.get(), nullptr);
  PEAL_ASSERT(done == 0, "EPOLL_CTL_DEL of {} failed: {}", fd_.get(), errno);
  registered_ = 0;
}

void CoSocket::on_events(uint32_t events) {
  if (waiter_ == nullptr || wanted_ == 0 || (events & (wanted_ | EPOLLERR | EPOLLHUP)) == 0) return;
  wake();
}

// Resumes the coroutine that waits for this socket. The coroutine may end and destroy this CoSocket. The caller of
// wake() must therefore not use the CoSocket afterwards.
void CoSocket::wake() {
  PEAL_ASSERT(waiter_ != nullptr, "no coroutine waits at fd {}", fd_.get());
  Waiter& waiter = *std::exchange(waiter_, nullptr);
  SlowNode::unlink();
  waiter.unlink();
  waiter.resume();
}

}  // namespace peal::models
