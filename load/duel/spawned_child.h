// SPDX-License-Identifier: BSD-3-Clause
// Starts a program as a child of this process, in its own process group. The program is a server of a duel, or the
// shell that connects to another machine. The child's output comes through pipes. When the thread that started the
// child ends, the child gets SIGTERM. Use it on one thread only.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <peal/base/fd.h>

namespace peal::load {

struct ChildWishes {
  std::vector<std::string> words;  // the program and its arguments
  // An environment variable for the child, as NAME=VALUE. It replaces an inherited variable with this name. If `mark`
  // is empty, the child inherits the environment unchanged.
  std::string mark = {};
  std::vector<int> cpus = {};  // the CPUs that the child may use; empty: those of this thread
  // True: the child's stdin is a socket, through which this process can write to the child. False: the child's stdin is
  // /dev/null.
  bool is_spoken_to = false;
};

struct SpawnedChild {
  int pid = -1;  // also the number of its process group
  // The socket for writing to the child's stdin. Set only if ChildWishes::is_spoken_to was true. Write with send(2) and
  // MSG_NOSIGNAL. Without MSG_NOSIGNAL, the kernel would send SIGPIPE to this process if the child has ended or has
  // closed its stdin.
  Fd input;
  Fd output;
  Fd complaints;
};

// Starts the program. When the child process ends, the caller must call waitpid(2) for it. The error is one sentence.
// It says that no process could be created, or that the program could not be run.
std::expected<SpawnedChild, std::string> spawn(ChildWishes wishes);

}  // namespace peal::load
