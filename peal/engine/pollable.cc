// SPDX-License-Identifier: BSD-3-Clause
#include <peal/engine/pollable.h>

#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>

#include <peal/base/fd.h>

namespace peal::detail {

Result<void> check_pollable(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return fail(errno);
  if (S_ISSOCK(facts.st_mode) || S_ISFIFO(facts.st_mode)) return {};
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event nothing{};
  if (!epoll || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &nothing) != 0) return fail(errno);
  return {};
}

}  // namespace peal::detail
