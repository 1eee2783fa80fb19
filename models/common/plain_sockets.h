// SPDX-License-Identifier: BSD-3-Clause
// The system calls that every model makes. Each function decides what an error means, so that no model has to. The
// functions may be called on any thread.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include <models/common/echo/echo_bytes.h>
#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>

namespace peal::models {

inline constexpr int kBacklog = 4096;

enum class Blocking : bool { kNo, kYes };
// Says whether a listener sets SO_REUSEPORT (socket(7)). Several listeners can have the same address if all of them set
// this option. Use Shared::kYes only with IP addresses, because two unix sockets can never be bound to the same path.
enum class Shared : bool { kNo, kYes };

// Creates a listening socket at `address`. The socket is close-on-exec. If `address` is an IP address, the socket has
// the option TCP_NODELAY. Every connection accepted from the socket has the option too, because Linux copies the option
// from the listener. Fails, for example, with EADDRINUSE.
Result<Fd> listen_at(const SocketAddress& address, Blocking blocking, Shared shared = Shared::kNo);
Result<SocketAddress> address_of_socket(int fd);
// Returns `count` listeners with the same address: `first` itself and new ones. `first` must have been created with
// Shared::kYes. For each new connection, the kernel computes a hash of the addresses and ports of both sides, and
// selects one of the listeners by the hash. Fails, for example, with EMFILE.
Result<std::vector<Fd>> share_listening(Fd first, size_t count, Blocking blocking);

// Sets the option TCP_NODELAY. Without this option, the last frame of a burst may wait until the client has
// acknowledged the previous frame. An accepted connection has the option if its listener has it. On a unix socket, the
// call has no effect, because only TCP has the option.
void send_without_delay(int fd);

// The outcome of a system call on a socket.
enum class CallOutcome : uint8_t {
  kDone,        // the call has succeeded
  kWouldBlock,  // the call would have to wait (EAGAIN)
  kEnd,         // the peer has closed, or the connection has failed; when accepting: the listener was shut down
  kNoRoom,      // only when accepting: no fd or memory is free for another connection
};

struct Accepted {
  CallOutcome did;
  Fd socket = {};
};
// Accepts the next connection of `listener`. The socket of the connection is close-on-exec. If `blocking` is kYes, the
// socket is blocking. Skips connections that failed while they waited in the backlog.
Accepted accept_one(int listener, Blocking blocking);
// The length of the pause between an accept_one() that has returned kNoRoom and the next accept_one(). kNoRoom means
// that no fd or memory is free for another connection. A waiting connection stays in the backlog, so the listener stays
// readable. Without the pause, the thread would call accept_one() again and again, and use a whole CPU.
inline constexpr std::chrono::milliseconds kRoomPause{10};
// Blocks the calling thread for kRoomPause. Do not call wait_for_room() on a thread that also serves other connections.
void wait_for_room();

struct Moved {
  CallOutcome did;
  size_t bytes = 0;
};
// Reads bytes into `buffer` with one read(2).
Moved read_some(int fd, EchoBytes& buffer);
// Sends the answer in `buffer` with one send(2), and removes the sent bytes from the buffer. The outcome is kDone even
// if only a part of the answer was sent. The answer must not be empty.
Moved write_some(int fd, EchoBytes& buffer);

}  // namespace peal::models
