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

// Outcome of one sendfile(2) or splice(2). `error` is an errno, or 0 if the call succeeded. At the end of the input,
// `bytes` and `error` are both 0.
struct TransferResult {
  size_t bytes;
  int error;
};

// Calls `call`, which must return as write(2) does, and repeats it if a signal interrupts it. Removes the SIGPIPE that
// the call may have raised. The signal may be raised in two cases: the call fails with EPIPE, or it moves fewer bytes
// than `wanted`. In the second case the peer has sent its FIN, and its RST arrived after some bytes had been written.
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
