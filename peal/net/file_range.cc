// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/file_range.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace peal {

Result<FileRange> open_file(const std::string& path) {
  // O_NONBLOCK is needed in case the file is a FIFO: without it, open(2) would wait for a writer.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(errno);
  if (!S_ISREG(status.st_mode)) return fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  return FileRange{std::make_shared<const Fd>(std::move(fd)), 0, static_cast<uint64_t>(status.st_size)};
}

}  // namespace peal
