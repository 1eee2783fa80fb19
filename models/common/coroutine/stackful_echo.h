// SPDX-License-Identifier: BSD-3-Clause
// StackfulEcho: the echo service of stackful coroutines. The code looks like blocking code: read() and write() return
// when they are done. After EAGAIN, they suspend the coroutine until the loop resumes it, and their caller does not
// notice this. Compare this class with StacklessEcho (stackless_echo.h). Use it on one thread only.
#pragma once

#include <optional>

#include <models/common/coroutine/co_echo.h>
#include <models/common/coroutine/fiber.h>

namespace peal::models {

class StackfulEcho : public CoEcho {
 public:
  using CoEcho::CoEcho;

  // Accepts the next connection of `listener` and returns its socket. Until a connection arrives, the fiber `self` is
  // suspended. Returns nullopt if the server has to end.
  std::optional<Fd> accept(Fiber& self, CoSocket& listener);
  // Serves the connection with the socket `connection` until it ends, and closes the socket.
  void serve(Fiber& self, Fd connection);

 private:
  // read() reads at least one byte into `buffer`. write() sends the whole answer in `buffer`. While the socket is not
  // ready, both suspend the fiber `self`. Both return true if they have succeeded, and false if the connection is over.
  bool read(Fiber& self, CoSocket& socket, EchoBytes& buffer);
  bool write(Fiber& self, CoSocket& socket, EchoBytes& buffer);
};

}  // namespace peal::models
