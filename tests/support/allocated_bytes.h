// SPDX-License-Identifier: BSD-3-Clause
// allocated_bytes(): returns how many bytes of malloc the process has in use, as malloc itself counts them. Unlike the
// memory sizes in /proc, the number does not depend on which pages the kernel has mapped, or on when it counts them.
#pragma once

#include <malloc.h>

#include <cstddef>

// Returns how many bytes are allocated. Only a sanitizer's run-time library defines this function. The declaration is
// weak, so that builds without a sanitizer link. In these builds, the function's address is null.
extern "C" [[gnu::weak]] size_t __sanitizer_get_current_allocated_bytes();

namespace peal::test {

inline size_t allocated_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace peal::test
