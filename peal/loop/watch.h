// SPDX-License-Identifier: BSD-3-Clause
// Watch: readiness of an fd of the user's own (a pipe, inotify, a foreign library's socket) as calls on a loop. Its
// owner destroys it to end it. One thread: the loop's, or before run() whoever has the loop; what is watched before
// run() is registered when the loop begins.
//
// An engine may refer to an fd for a moment after the watch has ended: the fd must stay open until then. A Watch that
// owns its fd sees to that itself; the owner of a borrowed one waits for stop() to say so.
#pragma once

#include <memory>
#include <system_error>

#include <peal/base/callback.h>
#include <peal/base/fd.h>
#include <peal/loop/loop.h>

namespace peal {

// Both: what a Watch asks for, and what its fd is ready for. An error or a hang-up counts as all that was asked; the
// FIN of a socket's peer is something to read, no more.
struct Readiness {
  bool readable = false;
  bool writable = false;

  bool operator==(const Readiness&) const = default;
};

class Watch {
 public:
  // Level-triggered: called again, once a turn, while the fd stays ready. May throw, as a task may; may do anything
  // with its Watch, destroy it too.
  using Callback = peal::Callback<void(Readiness)>;
  // The fd cannot be watched; the same on every engine. EPERM: nobody can tell when it is ready (a regular file, a
  // folder, /dev/null); EBADF: it is not open; EMFILE: on "select" FD_SETSIZE and above, or no fd left; ENOSPC, ENOMEM.
  // The watch has ended as by stop(), an owned fd is closed by now. Called in a later turn, or not at all if the loop
  // ends; an empty one is a line in the log.
  using OnError = peal::Callback<void(std::error_code)>;

  // Any number of watches may share one fd, each is called; it is best non-blocking, since the first to be called may
  // read what the next was told of. Each but the first takes an fd more. Owned: closed once nothing refers to it.
  Watch(Loop& loop, Fd fd, Readiness interest, Callback callback, OnError on_error = {});
  // Borrowed: stays open until `on_done` of stop() or on_error, or until the loop is destroyed.
  Watch(Loop& loop, int fd, Readiness interest, Callback callback, OnError on_error = {});
  // As stop() without on_done; also after the loop's end.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // None of both pauses.
  void set_interest(Readiness interest);
  Readiness interest() const;
  int fd() const;
  // What on_error is told, or will be.
  std::error_code error() const;
  // No call any more, from now on. `on_done` is called once the engine has let go of the fd, an owned one being closed
  // by then: at once if it does not hold it, else in a later turn or at the end of run(). A second stop() has none.
  void stop(peal::Callback<void()> on_done = {});

 private:
  class State;

  std::shared_ptr<State> state_;
};

}  // namespace peal
