// SPDX-License-Identifier: BSD-3-Clause
// SignalWatch turns signals of the process into calls on a loop's thread: it blocks them, and reads them from a
// signalfd that the engine watches. The loop owns it; its thread alone touches it.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <thread>

#include <peal/base/fd.h>
#include <peal/base/result.h>
#include <peal/engine/engine.h>

namespace peal::detail {

class SignalWatch final : public WatchEvents {
 public:
  // Must not throw.
  using Task = std::move_only_function<void()>;

  // Not while the engine watches. On the thread of the first add(), whose mask alone is within reach, signals that were
  // not blocked before are unblocked again; those of them that arrived unread are dropped, not let loose on a process
  // that is about to end.
  ~SignalWatch();

  // Blocks the signal in the calling thread. EEXIST: it has a handler already. EINVAL: no such signal, or one that
  // cannot be caught. EMFILE, ENFILE, ENOMEM: no signalfd to be had.
  Result<void> add(int signal_number, Task handler);
  // Watches from now on until the engine, which has opened, shuts. After an add() too; doing it twice is harmless.
  void attach(Engine& engine);

  void on_ready(bool readable, bool writable) override;
  void on_unwatched() override;

 private:
  std::map<int, Task> handlers_;
  std::thread::id thread_;  // of the first add()
  sigset_t signals_{};      // with a handler; on Linux a set of zeroes is empty
  sigset_t blocked_{};      // of those, what add() blocked in thread_
  Fd fd_;
  WatchId watch_;
};

}  // namespace peal::detail
