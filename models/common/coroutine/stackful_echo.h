// SPDX-License-Identifier: BSD-3-Clause
// StackfulEcho: the echo service of stackful coroutines. It reads like blocking code: read() and write() come back when
// they are done; what they do meanwhile (EAGAIN, back to the loop, resumed) is hidden in the stack they stop on.
// Compare stackless_echo.h. One thread.
#pragma once

#include <optional>

#include <models/common/coroutine/co_echo.h>
#include <models/common/coroutine/fiber.h>

namespace peal::models {

class StackfulEcho : public CoEcho {
 public:
  using CoEcho::CoEcho;

  // The next connection; nothing when all is to end.
  std::optional<Fd> accept(Fiber& self, CoSocket& listener);
  // Serves it to its end.
  void serve(Fiber& self, Fd connection);

 private:
  // Something, or the whole answer; false: there is no going on.
  bool read(Fiber& self, CoSocket& socket, EchoBytes& buffer);
  bool write(Fiber& self, CoSocket& socket, EchoBytes& buffer);
};

}  // namespace peal::models
