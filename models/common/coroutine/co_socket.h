// SPDX-License-Identifier: BSD-3-Clause
// CoSocket: a non-blocking socket as a coroutine of either kind has it: tries, and a place to wait between them.
//
//   while (!(done = socket.try_read(buffer))) { socket.wait_to_read(buffer, self); <suspend>; }
//
// It belongs to one coroutine, on the loop's thread.
#pragma once

#include <sys/epoll.h>

#include <optional>
#include <utility>

#include <models/common/coroutine/coroutine_loop.h>
#include <models/common/plain_sockets.h>

namespace peal::models {

class CoSocket : private SlowNode {
 public:
  // The loop outlives it.
  CoSocket(CoroutineLoop& loop, Fd fd) : loop_(loop), fd_(std::move(fd)) {}

  // True: something was read, or written. False: no more will be, because of the client, of its slowness, or because
  // all is to end. Nothing: wait, then try again.
  std::optional<bool> try_read(EchoBytes& buffer);
  std::optional<bool> try_write(EchoBytes& buffer);
  // kWouldBlock, kNoRoom: wait, then try again. kEnd: all is to end.
  Accepted try_accept();

  // After a try that did nothing. The waiter is resumed once. A client that is in the middle of a frame or of an answer
  // has the slow_timeout of the options for it.
  void wait_to_read(const EchoBytes& buffer, Waiter& waiter) { wait(EPOLLIN, buffer, waiter); }
  void wait_to_write(const EchoBytes& buffer, Waiter& waiter) { wait(EPOLLOUT, buffer, waiter); }
  // As long as nobody is there; but only for a moment when there was no room for another connection.
  void wait_to_accept(Waiter& waiter);

  // The last try did nothing because others have their turn; not because there was nothing to do.
  bool gave_way() const { return because_ == BlockedBy::kOthersTurn; }
  // It was given up for being too slow.
  bool timed_out() const { return timed_out_; }
  // Takes it out of the loop. Who closes a socket that another process has too calls it: the kernel would not do so.
  void forget();

 private:
  friend class CoroutineLoop;
  // Why the last try did nothing.
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
  uint32_t wanted_ = 0;      // by the waiter
  uint32_t registered_ = 0;  // in the epoll
  unsigned tries_ = 0;       // since it last waited
  BlockedBy because_ = BlockedBy::kOthersTurn;
  bool late_ = false;  // the next try is the last
  bool timed_out_ = false;
  bool broken_ = false;  // the kernel would not report it
};

}  // namespace peal::models
