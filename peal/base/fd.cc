// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/fd.h>

#include <unistd.h>

#include <cerrno>

#include <peal/base/assert.h>

namespace peal {

void Fd::reset(int fd) {
  PEAL_ASSERT(fd != fd_ || fd < 0, "descriptor {} is already owned by this Fd", fd);
  const int old = std::exchange(fd_, fd);
  if (old < 0) return;
  const int saved_errno = errno;  // a caller that returns after a failed call still needs its errno
  const bool closed = ::close(old) == 0 || errno != EBADF;
  PEAL_ASSERT(closed, "descriptor {} was closed by someone who did not own it", old);
  errno = saved_errno;
}

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace peal
