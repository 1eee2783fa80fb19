// SPDX-License-Identifier: BSD-3-Clause
// SocketFile: the file of a bound unix socket, identified by device and inode. The path alone is not enough: another
// process may have replaced the file, and removing it would make that process unreachable. A SocketFile is a plain
// value and may be used on any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace peal {

class SocketFile {
 public:
  // Makes a SocketFile that stands for no file.
  SocketFile() = default;
  // Returns the file of the path that the socket `fd` is bound to. The result stands for no file if the socket has no
  // path, or if the path does not lead to a socket. Must be called right after bind(2), before another process can have
  // replaced the file.
  static SocketFile of(int fd);

  // Returns whether the path still leads to this file, which is compared by device and inode number. The answer is
  // certain only while the socket is open. After that, a new file may get the inode number.
  bool is_there() const;
  // Removes the file if the path still leads to it. Must be called before the socket is closed.
  void remove() const;

 private:
  std::string path_;  // Empty if this stands for no file.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace peal
