// SPDX-License-Identifier: BSD-3-Clause
// RootFolder: opens files beneath one folder, and nothing outside of it, whatever a path or a symbolic link says.
//
// The kernel does the work (openat2(2), RESOLVE_BENEATH: Linux 5.6): it walks the path inside the root, so there is no
// moment between a check and its use. Links that stay inside are followed; absolute ones and those that lead out are
// not, nor the magic ones of /proc. Where a kernel or a container's filter lacks the call, the path is walked folder by
// folder, and no link is followed at all. Any thread.
#pragma once

#include <string>

#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::detail {

class RootFolder {
 public:
  enum class Way : uint8_t { kBest, kWalk };

  // ENOENT, ENOTDIR, EACCES, ... `way` is for tests: kBest asks the kernel where it can.
  static Result<RootFolder> open(const std::string& path, Way way = Way::kBest);

  // Opens `path`, relative to the root, for reading: also a folder. ENOENT, ENOTDIR, EACCES, EMFILE, ...; EXDEV or
  // ELOOP where it would lead out. Never waits for the other end of a FIFO.
  Result<Fd> open_beneath(const std::string& path) const;

 private:
  RootFolder(Fd folder, bool asks_kernel) : folder_(std::move(folder)), asks_kernel_(asks_kernel) {}
  Result<Fd> walk(const std::string& path) const;

  Fd folder_;
  bool asks_kernel_;
};

}  // namespace peal::detail
