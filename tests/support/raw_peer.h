// SPDX-License-Identifier: BSD-3-Clause
// RawPeer: a plain socket of the test that plays the other side of a connection. It can misbehave in ways that no
// engine would. After connect(), no call blocks. It is used on one thread.
//
// If the tested engine has the sealing layer (sealed_port.h) above it, a RawPeer seals what it sends and unseals what
// it receives. A test need not know this: the functions below take and return the plain bytes. A RawPeer uses TLS in
// the same way (tls_socket.h).
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
  // Switches the sealing layer (sealed_port.h) on or off for all peers that this process makes after the call. Peers
  // that exist already do not change.
  static void seal_all(bool on);
  // Switches TLS on or off for all peers that this process makes after the call. Switching TLS off also closes the
  // sockets that TlsSocket::close() has left open because of unsent bytes.
  static void over_tls_all(bool on);
  // Continues the TLS handshakes of all peers and sends the bytes that they keep. wait_until() calls tend_all()
  // repeatedly. A test that waits in another way must call tend_all() itself, because a peer has no thread that
  // continues its handshake.
  static void tend_all();

  // Opens a socket that is not connected yet.
  explicit RawPeer(int family = AF_INET);
  // Returns a connected peer. `receive_buffer_bytes` limits the socket's receive buffer; with 0, the kernel chooses the
  // size.
  static RawPeer connected(const SocketAddress& address, int receive_buffer_bytes = 0);
  static std::vector<RawPeer> connected_many(const SocketAddress& address, size_t count);
  ~RawPeer();
  RawPeer(RawPeer&&) noexcept;
  RawPeer& operator=(RawPeer&&) noexcept;
  // Connects to a listener. The kernel completes the connection, even if the listener has not accepted it yet.
  void connect(const SocketAddress& address);

  // Sends all of `bytes`. If the kernel does not take all of them immediately, the test fails. With TLS, the peer keeps
  // the rest until the kernel takes the rest, so the test does not fail.
  void send(std::string_view bytes, int flags = 0);
  // Sends the beginning of `bytes`, as much as the kernel takes. Returns how many bytes the peer has taken. A peer that
  // uses TLS takes at most 16 KiB, and keeps the bytes that the kernel does not take yet.
  size_t try_send(std::string_view bytes);
  // Reads all bytes that have arrived and appends them to received(). Returns true while the connection is open.
  bool pump();
  void fin();
  void reset();
  void close();

  int fd() const { return fd_.get(); }
  const std::string& received() const { return received_; }
  // True if the peer has read the FIN of the other side. False if an error has ended the connection. error() returns
  // the errno of that error, or 0 if there was no error.
  bool ended() const { return ended_; }
  int error() const { return error_; }
  // True if the FIN of the other side came without the end mark of the layer. The sealing layer marks the end by an
  // empty record, and TLS marks the end by close_notify. Always false for a peer that uses neither the sealing layer
  // nor TLS.
  bool cut_short() const { return (seals_ || speaks_tls_) && ended_ && !marked_; }

 private:
  size_t send_some(std::string_view bytes);
  void take(std::string_view bytes);

  Fd fd_;
  std::string received_;
  bool ended_ = false;
  int error_ = 0;
  // The members below are used only if the peer uses the sealing layer or TLS.
  bool seals_ = false;
  bool greeted_ = false;
  bool marked_ = false;
  std::string sealed_;       // received and not unsealed yet
  std::string unsent_;       // the rest of a record that is partly sent
  size_t unsent_plain_ = 0;  // plain bytes in that record
  bool speaks_tls_ = false;
  std::unique_ptr<test::TlsSocket> tls_;  // null before the peer is connected
};

// Makes it impossible for this process to open another fd, from fill() until end() or the destructor. The constructor
// lowers the limit of open fds, and fill() opens fds up to this limit. The constructor lowers the limit before the test
// queues requests, because io_uring may read the limit when a request is queued, for example an accept.
class FdExhaustion {
 public:
  FdExhaustion();
  ~FdExhaustion();
  FdExhaustion(const FdExhaustion&) = delete;
  FdExhaustion& operator=(const FdExhaustion&) = delete;

  void fill();
  // Closes the fds that fill() has opened.
  void end() { fillers_.clear(); }

 private:
  uint64_t limit_before_ = 0;
  std::vector<Fd> fillers_;
};

}  // namespace peal
