// SPDX-License-Identifier: BSD-3-Clause
// DatagramSocket: a UDP (or unix datagram) socket on a loop.
//
//   peal::DatagramSocket socket(loop, {.on_datagram = [](auto& self, const auto& from, peal::Buffer& bytes) {
//     (void)self.send_to(from, bytes.front());
//   }});
//   loop.post([&] { socket.open("127.0.0.1:9981"); });
//
// It belongs to its loop and is used on the loop's thread, inside run(). The user owns it and may destroy it inside its
// own callbacks, before or after its loop, on any thread (while the loop runs elsewhere that waits for the loop's
// current turn); after that no callback of it begins.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <system_error>

#include <peal/base/callback.h>
#include <peal/base/memory/buffer.h>
#include <peal/base/result.h>
#include <peal/base/socket_address.h>
#include <peal/loop/loop.h>

namespace peal {

struct DatagramCallbacks;
namespace detail {
class DatagramPort;
}

struct DatagramStats {
  uint64_t received = 0;
  uint64_t received_bytes = 0;
  uint64_t sent = 0;  // taken by the kernel
  uint64_t sent_bytes = 0;
  uint64_t dropped = 0;     // send_to() failed
  uint64_t errors = 0;      // told by on_error
  uint64_t exceptions = 0;  // left a callback; logged, and the socket goes on
};

class DatagramSocket {
 public:
  DatagramSocket(Loop& loop, DatagramCallbacks callbacks);
  ~DatagramSocket();
  DatagramSocket(const DatagramSocket&) = delete;
  DatagramSocket& operator=(const DatagramSocket&) = delete;

  // Once. The answer is the address bound (port 0: the kernel chooses). EADDRINUSE, EACCES, EMFILE, EALREADY,
  // Trouble::kBadAddress, Trouble::kLoopStopped.
  Result<SocketAddress> open(const SocketAddress& local);
  Result<SocketAddress> open(std::string_view local);
  // EBADF when it is not open.
  Result<SocketAddress> local_address() const;
  // Now or never: EAGAIN when the kernel has no room, EMSGSIZE, EBADF when it is not open, ...
  Result<void> send_to(const SocketAddress& to, std::string_view bytes);
  // What has arrived unread is dropped. Later calls do nothing.
  void close();
  bool is_open() const;
  const DatagramStats& stats() const;

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<detail::DatagramPort> port_;
};

// None is required.
struct DatagramCallbacks {
  // One datagram; what is left in `bytes` is dropped.
  Callback<void(DatagramSocket&, const SocketAddress& from, Buffer& bytes)> on_datagram = nullptr;
  // What a datagram sent earlier met on its way (ECONNREFUSED, EHOSTUNREACH, ...). The socket goes on.
  Callback<void(DatagramSocket&, std::error_code)> on_error = nullptr;
};

}  // namespace peal
