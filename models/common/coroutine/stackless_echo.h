// SPDX-License-Identifier: BSD-3-Clause
// StacklessEcho: the echo service of C++20 coroutines. Its code corresponds to StackfulEcho (stackful_echo.h) line by
// line, with one difference: CoTask and co_await mark each function that may wait. Reading and writing are awaitables
// and not coroutines. Therefore the only coroutine frame of a connection is the frame of serve(). Use it on one thread
// only.
#pragma once

#include <optional>

#include <models/common/coroutine/co_echo.h>
#include <models/common/coroutine/co_task.h>

namespace peal::models {

class StacklessEcho : public CoEcho {
 public:
  using CoEcho::CoEcho;

  // Accepts the next connection of `listener` and returns its socket. Until a connection arrives, the calling coroutine
  // is suspended. Returns nullopt if the server has to end.
  CoTask<std::optional<Fd>> accept(CoSocket& listener);
  // Serves the connection with the socket `connection` until it ends, and closes the socket.
  CoTask<void> serve(Fd connection);
};

}  // namespace peal::models
