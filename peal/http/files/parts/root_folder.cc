// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/files/parts/root_folder.h>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace peal::detail {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

// openat2(2), for which glibc has no function. Returns -1 and sets errno if it fails.
int open_resolved(int folder, const char* path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof(how)));
}

}  // namespace

Result<RootFolder> RootFolder::open(const std::string& path, Way way) {
  Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail(errno);
  const Fd probe(way == Way::kBest ? open_resolved(folder.get(), ".", O_PATH | O_CLOEXEC) : -1);
  return RootFolder(std::move(folder), static_cast<bool>(probe));
}

Result<Fd> RootFolder::open_beneath(const std::string& path) const {
  if (path.empty() || path.contains('\0')) return fail(ENOENT);
  if (!asks_kernel_) return walk(path);
  // openat2(2) fails with EAGAIN if a folder was renamed meanwhile: then the kernel cannot say whether a ".." in a link
  // stays inside the root. Trying again usually helps.
  constexpr int kTries = 10;
  for (int at = 0;; ++at) {
    Fd fd(open_resolved(folder_.get(), path.c_str(), kReadFlags));
    if (fd) return fd;
    if (errno != EAGAIN || at == kTries) return fail(errno);
  }
}

Result<Fd> RootFolder::walk(const std::string& path) const {
  Fd inner;
  int folder = folder_.get();
  for (size_t begin = 0;;) {
    const size_t slash = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, slash - begin);
    if (name == "..") return fail(EXDEV);
    if (name.empty()) return fail(begin == 0 ? EXDEV : ENOENT);
    const bool last = slash == path.size();
    Fd next(::openat(folder, name.c_str(), O_NOFOLLOW | (last ? kReadFlags : O_PATH | O_DIRECTORY | O_CLOEXEC)));
    if (!next) return fail(errno);
    if (last) return next;
    inner = std::move(next);
    folder = inner.get();
    begin = slash + 1;
  }
}

}  // namespace peal::detail
