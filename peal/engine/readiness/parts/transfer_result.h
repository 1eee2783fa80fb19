// SPDX-License-Identifier: BSD-3-Clause
// What sendfile(2) and splice(2) have in common: they have no MSG_NOSIGNAL, so SIGPIPE is held off around each.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <ctime>

namespace peal::detail {

// `bytes` of 0 without an error: the end of the input.
struct TransferResult {
  size_t bytes;
  int error;
};

// Makes the call (again, when interrupted), which answers as write(2) does. A SIGPIPE of its own is taken back: it
// comes with EPIPE, and also with fewer bytes than the `wanted` ones, where the reset of a peer that had sent its FIN
// came after the first of them.
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
