// SPDX-License-Identifier: BSD-3-Clause
// A program as a child of this process, in a process group of its own: a server of a duel, or the shell that leads to
// another machine. What it prints comes through pipes. It gets SIGTERM when the thread that started it ends. One
// thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/fd.h>

namespace peal::load {

struct ChildWishes {
  std::vector<std::string> words;  // the program and its arguments
  std::string mark = {};           // NAME=VALUE for its environment, in the place of another NAME; empty: none
  std::vector<int> cpus = {};      // none: where this thread may run
  bool is_spoken_to = false;       // its stdin is one end of a socket pair; else /dev/null
};

struct SpawnedChild {
  int pid = -1;  // the number of its group, too
  Fd input;      // where it is spoken to; send(2) with MSG_NOSIGNAL
  Fd output;
  Fd complaints;
};

// The error is one sentence: there is no such program, or no process for it. The child is waited for by the caller.
std::expected<SpawnedChild, std::string> spawn(ChildWishes wishes);

}  // namespace peal::load
