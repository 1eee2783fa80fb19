// SPDX-License-Identifier: BSD-3-Clause
// RawPeer: the other side of a connection played by a socket of the test's own, so that it can misbehave in ways no
// engine would. Non-blocking once connected; one thread.
//
// Where the server's streams are a SealedPort's it seals and unseals what it is given and gets, so that a test need not
// know: all that is said below is then of what is sealed. Over TLS the same (tls_socket.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/fd.h>
#include <peal/base/socket_address.h>

namespace peal {

namespace test {
class TlsSocket;
}

class RawPeer {
 public:
  // Peers that are made from now on seal what they send; for the whole process.
  static void seal_all(bool on);
  // The same with TLS.
  static void over_tls_all(bool on);
  // Peers that still shake hands go on: wait_until() does it, and who waits by itself has to.
  static void tend_all();

  // A socket that is not connected yet: it holds its fd from now on.
  explicit RawPeer(int family = AF_INET);
  // Connected. `receive_buffer_bytes` bounds what the kernel takes for it; 0: as it likes.
  static RawPeer connected(const SocketAddress& address, int receive_buffer_bytes = 0);
  static std::vector<RawPeer> connected_many(const SocketAddress& address, size_t count);
  ~RawPeer();
  RawPeer(RawPeer&&) noexcept;
  RawPeer& operator=(RawPeer&&) noexcept;
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
  void close();

  int fd() const { return fd_.get(); }
  const std::string& received() const { return received_; }
  // The peer's FIN was read; error() tells of an end by error.
  bool ended() const { return ended_; }
  int error() const { return error_; }
  // It was, without the end mark before it.
  bool cut_short() const { return (seals_ || speaks_tls_) && ended_ && !marked_; }

 private:
  size_t send_some(std::string_view bytes);
  void take(std::string_view bytes);

  Fd fd_;
  std::string received_;
  bool ended_ = false;
  int error_ = 0;
  // Sealed.
  bool seals_ = false;
  bool greeted_ = false;
  bool marked_ = false;
  std::string sealed_;       // received
  std::string unsent_;       // of a record that is under way
  size_t unsent_plain_ = 0;  // what that was made of
  bool speaks_tls_ = false;
  std::unique_ptr<test::TlsSocket> tls_;  // once connected
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
