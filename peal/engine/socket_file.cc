// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/socket_file.h>

#include <sys/stat.h>
#include <unistd.h>

#include <peal/engine/parts/socket_setup.h>

namespace peal {

SocketFile SocketFile::of(int fd) {
  SocketFile file;
  const Result<SocketAddress> address = detail::local_address(fd);
  struct stat facts{};
  if (!address || address->unix_path().empty()) return file;
  std::string path(address->unix_path());
  if (::stat(path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) return file;
  file.path_ = std::move(path);
  file.device_ = facts.st_dev;
  file.inode_ = facts.st_ino;
  return file;
}

bool SocketFile::is_there() const {
  struct stat facts{};
  return !path_.empty() && ::stat(path_.c_str(), &facts) == 0 && facts.st_dev == device_ && facts.st_ino == inode_;
}

void SocketFile::remove() const {
  if (is_there()) ::unlink(path_.c_str());
}

}  // namespace peal
