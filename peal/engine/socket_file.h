// SPDX-License-Identifier: BSD-3-Clause
// SocketFile: the file of a bound unix socket, known by device and inode. A path alone does not tell whose the file is:
// another process may have replaced it, and its clients would find nobody if it were removed. A plain value; any
// thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace peal {

class SocketFile {
 public:
  // None.
  SocketFile() = default;
  // The file where the socket `fd` is bound. None where it has no path, or where nothing is there. To be asked right
  // after bind(2), before anybody can have replaced it.
  static SocketFile of(int fd);

  // Whether the path leads to it still. An inode's number is given out again: the answer is sure only while the socket
  // is open, which keeps its inode.
  bool is_there() const;
  // Removes it if it is there; before the socket is closed.
  void remove() const;

 private:
  std::string path_;  // empty: none
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace peal
