// SPDX-License-Identifier: BSD-3-Clause
// probe_kernel(): finds out which features the running kernel has. It opens sockets and tries system calls, and leaves
// nothing open.
#pragma once

#include <string>

namespace peal::cli {

// Each field says why a feature of the kernel does not work on this machine. A field is empty if its feature works.
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
