// SPDX-License-Identifier: BSD-3-Clause
// KeptPort: reserves a port of 127.0.0.1 for servers that are destroyed and made again. Its own socket is bound to the
// port, but never listens (SO_REUSEADDR, socket(7)). So no other program gets the port, and clients are refused while
// no server listens there.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <peal/base/fd.h>
#include <peal/base/socket_address.h>

namespace peal::test {

class KeptPort {
 public:
  KeptPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in bound{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
    auto* const generic = reinterpret_cast<sockaddr*>(&bound);
    socklen_t size = sizeof bound;
    const int on = 1;
    EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on), 0);
    EXPECT_EQ(::bind(fd_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &size), 0);
    address_ = SocketAddress::from_kernel(generic, size);
  }

  const SocketAddress& address() const { return address_; }

 private:
  const Fd fd_;
  SocketAddress address_;
};

}  // namespace peal::test
