// SPDX-License-Identifier: BSD-3-Clause
// Reads a file that somebody names to its end: never more than its reader wants, whatever it is.
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

// What `fd` still has, which stays with the caller. EFBIG: more than `most_bytes`, as /dev/zero has; else as read(2):
// EISDIR is a folder. The calling thread waits. Where `fd` was opened with O_NONBLOCK it waits at most a second in all
// for a pipe that is silent: EAGAIN.
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
