// SPDX-License-Identifier: BSD-3-Clause
// move_bytes(): calls sendfile(2) or splice(2) without SIGPIPE. These calls have no MSG_NOSIGNAL, so the signal is
// blocked around each of them.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <ctime>

namespace peal::detail {

// Outcome of one call. `error` is an errno or 0. `bytes` is 0 without an error at the end of the input.
struct TransferResult {
  size_t bytes;
  int error;
};

// Calls `call`, which must return as write(2) does, and repeats it if a signal interrupts it. A SIGPIPE that the call
// has raised is removed. It comes with EPIPE. It also comes with a short count, if the peer sent its FIN and its RST
// arrived after some bytes had been written. So a count below `wanted` is checked for it, too.
template <class Call>
TransferResult move_bytes(size_t wanted, Call call) {
  sigset_t pipe;
  sigset_t before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ssize_t count;
  do {
    count = call();
  } while (count < 0 && errno == EINTR);
  int error = count < 0 ? errno : 0;
  timespec at_once{};
  const bool may_be_raised = error == EPIPE || (error == 0 && static_cast<size_t>(count) < wanted);
  if (may_be_raised && sigismember(&before, SIGPIPE) == 0) ::sigtimedwait(&pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const size_t bytes = count < 0 ? 0 : static_cast<size_t>(count);
  return {bytes, error};
}

}  // namespace peal::detail
