// SPDX-License-Identifier: BSD-3-Clause
// StacklessEcho: the echo service of C++20 coroutines, the same line by line as stackful_echo.h but for what a stack
// hides there: every function that may wait says so, with CoTask and co_await. What read() and write() try and wait for
// stands in awaitables, so that a wait needs no frame besides that of serve(). One thread.
#pragma once

#include <optional>

#include <models/common/coroutine/co_echo.h>
#include <models/common/coroutine/co_task.h>

namespace peal::models {

class StacklessEcho : public CoEcho {
 public:
  using CoEcho::CoEcho;

  // The next connection; nothing when all is to end.
  CoTask<std::optional<Fd>> accept(CoSocket& listener);
  // Serves it to its end.
  CoTask<void> serve(Fd connection);
};

}  // namespace peal::models
