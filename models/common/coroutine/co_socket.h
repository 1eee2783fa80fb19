// SPDX-License-Identifier: BSD-3-Clause
// CoSocket: a non-blocking socket for stackful and stackless coroutines. A coroutine tries an operation. If the
// operation cannot be done now, the coroutine waits and then tries again:
//
//   while (!(done = socket.try_read(buffer))) { socket.wait_to_read(buffer, self); <suspend>; }
//
// A CoSocket belongs to one coroutine. Use it on the loop's thread only.
#pragma once

#include <sys/epoll.h>

#include <optional>
#include <utility>

#include <models/common/coroutine/coroutine_loop.h>
#include <models/common/plain_sockets.h>

namespace peal::models {

class CoSocket : private SlowNode {
 public:
  // The CoSocket owns `fd`, which must be a non-blocking socket. `loop` must outlive the CoSocket.
  CoSocket(CoroutineLoop& loop, Fd fd) : loop_(loop), fd_(std::move(fd)) {}

  // try_read() and try_write() return one of these values:
  // - true: bytes were read or written.
  // - nullopt: nothing was read or written. The coroutine has to wait, and then try again.
  // - false: the connection is over. The connection has ended or failed, its client was too slow, the loop is stopping,
  //   or the socket cannot be added to the epoll.
  std::optional<bool> try_read(EchoBytes& buffer);
  std::optional<bool> try_write(EchoBytes& buffer);
  // Tries to accept a connection. If the outcome is kWouldBlock or kNoRoom, call wait_to_accept(), suspend the
  // coroutine, and try again. kEnd means that no more connections will come, for example because the loop is stopping.
  Accepted try_accept();

  // wait_to_read() and wait_to_write() tell the loop to resume the coroutine `waiter` later. Call wait_to_read() after
  // try_read() has returned nullopt, and wait_to_write() after try_write() has returned nullopt. Then suspend the
  // coroutine. The loop resumes the coroutine once, when one of these things happens:
  // - The socket is ready.
  // - The client is too slow: in the middle of a frame or an answer, the connection has made no progress for
  //   ModelOptions::slow_timeout.
  // - The last try_read() gave way to other coroutines (see gave_way()), and the other ready coroutines have run.
  // - The socket cannot be added to the epoll. The next attempt returns false.
  // - The loop is stopping.
  void wait_to_read(const EchoBytes& buffer, Waiter& waiter) { wait(EPOLLIN, buffer, waiter); }
  void wait_to_write(const EchoBytes& buffer, Waiter& waiter) { wait(EPOLLOUT, buffer, waiter); }
  // Tells the loop to resume the coroutine `waiter` later. Call wait_to_accept() after try_accept() has returned
  // kWouldBlock or kNoRoom. Then suspend the coroutine. The loop resumes the coroutine once, when one of these things
  // happens:
  // - After kWouldBlock: a connection arrives.
  // - After kNoRoom: kRoomPause has passed. The loop does not wait for an event, because connections in the backlog
  //   cause no new event of the edge-triggered epoll.
  // - The last try_accept() gave way to other coroutines (see gave_way()), and the other ready coroutines have run.
  // - The socket cannot be added to the epoll. The next attempt returns kEnd.
  // - The loop is stopping.
  void wait_to_accept(Waiter& waiter);

  // Returns true if the last try_read() or try_accept() made no system call, so that other coroutines can run first.
  // Call gave_way() only after try_read() has returned nullopt, or try_accept() has returned kWouldBlock. An attempt
  // gives way if the coroutine has already made 64 attempts to read or accept since the coroutine last waited at this
  // socket. Without this limit, a client that sends without a pause would keep all other coroutines waiting. Writes
  // need no limit, because a coroutine has to read again before it has more to write.
  bool gave_way() const { return because_ == BlockedBy::kOthersTurn; }
  // True if the connection was ended because its client was too slow.
  bool timed_out() const { return timed_out_; }
  // Removes the socket from the loop's epoll. Call forget() if the CoSocket is going to be destroyed while another
  // process still has the same socket open. In this case, close(2) alone would leave the socket in the epoll.
  void forget();

 private:
  friend class CoroutineLoop;
  // The reason why the last attempt to read, write or accept did nothing. In the order of the values: other coroutines
  // have to run first, the socket is not ready, or no fd or memory is free.
  enum class BlockedBy : uint8_t { kOthersTurn, kNotReady, kNoRoom };

  bool over();
  bool gives_way();
  std::optional<bool> outcome(CallOutcome did);
  void wait(uint32_t event, const EchoBytes& buffer, Waiter& waiter);
  void link(uint32_t event, Waiter& waiter);
  bool watch(uint32_t events);
  void on_events(uint32_t events);
  void wake();

  CoroutineLoop& loop_;
  Fd fd_;
  Waiter* waiter_ = nullptr;
  uint32_t wanted_ = 0;      // the events that the waiting coroutine needs
  uint32_t registered_ = 0;  // the events that are registered in the epoll
  unsigned tries_ = 0;       // attempts since the coroutine last waited
  BlockedBy because_ = BlockedBy::kOthersTurn;
  bool late_ = false;  // the client was too slow, and the next attempt is the last
  bool timed_out_ = false;
  bool broken_ = false;  // the socket cannot be added to the epoll
};

}  // namespace peal::models
