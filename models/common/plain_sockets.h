// SPDX-License-Identifier: BSD-3-Clause
// The system calls every model makes, each with the decision about its errors made once. Any thread.
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
// With kYes others may listen at the same address with the same (SO_REUSEPORT, socket(7)); IP only.
enum class Shared : bool { kNo, kYes };

// A listening socket, close-on-exec; what it accepts is TCP_NODELAY where there is TCP. EADDRINUSE and the like.
Result<Fd> listen_at(const SocketAddress& address, Blocking blocking, Shared shared = Shared::kNo);
Result<SocketAddress> address_of_socket(int fd);
// `first`, which is Shared, and as many more at its address as make `count`: the kernel spreads the connections over
// them by a hash. EMFILE and the like.
Result<std::vector<Fd>> share_listening(Fd first, size_t count, Blocking blocking);

// TCP_NODELAY, which what is accepted inherits from its listener. Without it the last frame of a burst may wait for the
// acknowledgement of the one before. A unix socket has none.
void send_without_delay(int fd);

// What became of a call.
enum class CallOutcome : uint8_t {
  kDone,        // it was done
  kWouldBlock,  // there was nothing to do now
  kEnd,         // the other side is gone, in order or by an error; of accept: the listener was shut down
  kNoRoom,      // of accept: no fd, or no memory, for another connection; it stays in the backlog
};

struct Accepted {
  CallOutcome did;
  Fd socket = {};
};
// The next connection, close-on-exec. Connections that died in the backlog are skipped.
Accepted accept_one(int listener, Blocking blocking);
// How long accept_one() is not tried again after it had no room: the listener stays readable, and nobody shall spin.
inline constexpr std::chrono::milliseconds kRoomPause{10};
// For those who have nothing else to do meanwhile.
void wait_for_room();

struct Moved {
  CallOutcome did;
  size_t bytes = 0;
};
// One read(2) into the buffer.
Moved read_some(int fd, EchoBytes& buffer);
// One write of the buffer's answer; kDone even if it was taken in part. There must be an answer.
Moved write_some(int fd, EchoBytes& buffer);

}  // namespace peal::models
