// SPDX-License-Identifier: BSD-3-Clause
// read_whole() reads a file to its end, up to a limit. It is for files whose name comes from a user, who may name a
// device or a pipe too.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include <peal/base/result.h>

namespace peal {

// Reads from `fd` until the end of the file and returns the bytes. `fd` stays open and belongs to the caller. The
// calling thread blocks. If `fd` has O_NONBLOCK, the thread waits at most one second in total for a pipe that has no
// data.
//
// Errors:
//   EFBIG   there are more than `most_bytes` bytes, as in /dev/zero
//   EAGAIN  `fd` has O_NONBLOCK, and the second is over
//   other   the error of read(2): EISDIR for a directory
inline Result<std::string> read_whole(int fd, size_t most_bytes) {
  std::string bytes;
  std::array<char, 16384> piece{};
  int patience_ms = 1000;
  while (bytes.size() <= most_bytes) {
    const ssize_t count = ::read(fd, piece.data(), piece.size());
    if (count > 0) {
      bytes.append(piece.data(), static_cast<size_t>(count));
    } else if (count == 0) {
      return bytes;
    } else if (errno == EAGAIN && patience_ms-- > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else if (errno != EINTR) {
      return fail(errno);
    }
  }
  return fail(EFBIG);
}

}  // namespace peal
