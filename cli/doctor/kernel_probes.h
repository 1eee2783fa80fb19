// SPDX-License-Identifier: BSD-3-Clause
// What the running kernel can do, found out by asking it: opening a socket, trying a system call. Leaves nothing open.
#pragma once

#include <string>

namespace peal::cli {

// Why each does not work here; empty where it does.
struct KernelProbes {
  std::string io_uring = {};
  std::string epoll = {};
  std::string epoll_pwait2 = {};
  std::string reuse_port = {};
  std::string incoming_cpu = {};
  std::string ipv6 = {};
};

KernelProbes probe_kernel();

}  // namespace peal::cli
