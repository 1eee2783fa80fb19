// SPDX-License-Identifier: BSD-3-Clause
// Watch: calls a callback on a loop when an fd of the user's own (a pipe, inotify, a foreign library's socket) is
// ready.
//
// The owner ends a watch by destroying it or with stop(). A Watch is used only on the loop's thread, or before run() on
// the thread that uses the loop. A watch that is made before run() is registered when the loop starts to run.
//
// An engine may use the fd for a short time after the watch has ended, and the fd must stay open until then. A Watch
// that owns its fd closes it at the right time. The owner of a borrowed fd must not close it before on_done of
// stop() or on_error is called.
#pragma once

#include <memory>
#include <system_error>

#include <peal/base/callback.h>
#include <peal/base/fd.h>
#include <peal/loop/loop.h>

namespace peal {

// For a Watch, Readiness says which operations the Watch waits for. In the callback, it says which of these operations
// are possible on the fd. After an error or a hang-up, every operation that the Watch waits for counts as possible.
// After a FIN from a socket's peer the fd is readable, which says nothing about writing.
struct Readiness {
  bool readable = false;
  bool writable = false;

  bool operator==(const Readiness&) const = default;
};

class Watch {
 public:
  // The callback for a ready fd. It is called once in each turn while the fd stays ready (level-triggered). If it
  // throws, the loop logs and counts the exception, as for a task. It may call any function of its Watch, and may
  // destroy the Watch.
  using Callback = peal::Callback<void(Readiness)>;
  // The callback for an fd that cannot be watched. The errors are the same on every engine:
  //   EPERM            fds of this kind have no readiness: a regular file, a folder, /dev/null
  //   EBADF            the fd is not open
  //   EMFILE           engine "select": the number is not below FD_SETSIZE; other engines: no fd is left
  //   ENOSPC, ENOMEM   the kernel has no room for the watch
  // When on_error is called, `callback` is not called any more, and an owned fd is closed. The call comes after the
  // function that failed has returned: later in the same turn, in a later turn or at the end of run(). on_error
  // is not called if the Watch is stopped before that, or if the loop had begun to end before the failure. If on_error
  // is empty, the error is logged instead.
  using OnError = peal::Callback<void(std::error_code)>;

  // Starts to watch an fd that the Watch owns. The fd is closed after the engine has released it.
  // Several watches may share one fd, and the callback of each is called. Such an fd should be non-blocking, because
  // the first callback may read the bytes for which the next one is called. Each watch of one fd except the first uses
  // one more fd.
  Watch(Loop& loop, Fd fd, Readiness interest, Callback callback, OnError on_error = {});
  // Starts to watch a borrowed fd. The caller must keep it open until `on_done` of stop() or `on_error` is called, or
  // until the loop is destroyed.
  Watch(Loop& loop, int fd, Readiness interest, Callback callback, OnError on_error = {});
  // Calls stop() without an on_done. The destructor may also run after the loop has ended.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Changes the operations that the watch waits for. A Readiness with both members false pauses the watch.
  void set_interest(Readiness interest);
  Readiness interest() const;
  int fd() const;
  // Returns the error for which the fd cannot be watched. The value is set in the turn of the failure, before on_error
  // is called. Empty if the engine has not refused the fd.
  std::error_code error() const;
  // Stops the watch: `callback` is not called any more. `on_done` is called after the engine has released the fd and an
  // owned fd is closed. If the engine does not use the fd, stop() calls `on_done` before it returns. Otherwise
  // `on_done` is called after stop() has returned, at the latest at the end of run(). A second stop() does nothing, and
  // asserts that its `on_done` is empty.
  void stop(peal::Callback<void()> on_done = {});

 private:
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace peal
