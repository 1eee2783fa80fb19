// SPDX-License-Identifier: BSD-3-Clause
// RootFolder: opens files beneath one folder, and never a file outside of it, whatever the path and its symbolic links
// say. Any thread.
//
// The kernel checks that while it opens the file (openat2(2) with RESOLVE_BENEATH, Linux 5.6), so nobody can change the
// path between a check and the opening. Symbolic links are followed if they are relative and stay inside the folder.
// The magic links of /proc are not followed.
//
// If the kernel or the system call filter of a container does not allow openat2(2), RootFolder opens the path folder by
// folder and follows no symbolic link at all.
#pragma once

#include <string>

#include <peal/base/fd.h>
#include <peal/base/result.h>

namespace peal::detail {

class RootFolder {
 public:
  enum class Way : uint8_t { kBest, kWalk };

  // Opens the folder `path`. Fails with the errno value of open(2). `way` is for tests: kBest uses openat2(2) if the
  // kernel has it, kWalk never does.
  static Result<RootFolder> open(const std::string& path, Way way = Way::kBest);

  // Opens the file or folder at `path` for reading; `path` is relative to this folder. Fails with the errno value of
  // open(2), and with EXDEV or ELOOP if the path leads out of the folder. Opening a FIFO does not wait for its writer.
  Result<Fd> open_beneath(const std::string& path) const;

 private:
  RootFolder(Fd folder, bool asks_kernel) : folder_(std::move(folder)), asks_kernel_(asks_kernel) {}
  Result<Fd> walk(const std::string& path) const;

  Fd folder_;
  bool asks_kernel_;
};

}  // namespace peal::detail
