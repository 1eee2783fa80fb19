// SPDX-License-Identifier: BSD-3-Clause
// RawPeer: the other side of a connection played by a socket of the test's own, so that it can misbehave in ways no
// engine would. Non-blocking once connected; one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/socket_address.h>

namespace peal {

class RawPeer {
 public:
  // A socket that is not connected yet: it holds its fd from now on.
  explicit RawPeer(int family = AF_INET);
  // Connects to a listener; the kernel answers for it, so this needs nobody to accept.
  void connect(const SocketAddress& address);

  // Sends all of it, which must fit what the kernel takes at once.
  void send(std::string_view bytes, int flags = 0);
  // Sends what fits; returns how much.
  size_t try_send(std::string_view bytes);
  // Reads what is there into received(); true while the connection stands.
  bool pump();
  void fin();
  void reset();
  void close() { fd_.reset(); }

  int fd() const { return fd_.get(); }
  const std::string& received() const { return received_; }
  // The peer's FIN was read; error() tells of an end by error.
  bool ended() const { return ended_; }
  int error() const { return error_; }

 private:
  Fd fd_;
  std::string received_;
  bool ended_ = false;
  int error_ = 0;
};

// Runs this process out of fds while it lives. The limit is lowered at once, because the kernel may look at it when a
// request is made instead of when it is carried out; fill() then takes what is left.
class FdExhaustion {
 public:
  FdExhaustion();
  ~FdExhaustion();
  FdExhaustion(const FdExhaustion&) = delete;
  FdExhaustion& operator=(const FdExhaustion&) = delete;

  void fill();
  // Gives back what fill() took.
  void end() { fillers_.clear(); }

 private:
  uint64_t limit_before_ = 0;
  std::vector<Fd> fillers_;
};

}  // namespace peal
