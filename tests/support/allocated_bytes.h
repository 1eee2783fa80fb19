// SPDX-License-Identifier: BSD-3-Clause
// What the process has taken from malloc and not given back, as malloc itself counts it: nothing to do with pages or
// with time.
#pragma once

#include <malloc.h>

#include <cstddef>

// The sanitizers' malloc counts for itself.
extern "C" [[gnu::weak]] size_t __sanitizer_get_current_allocated_bytes();

namespace peal::test {

inline size_t allocated_bytes() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) return __sanitizer_get_current_allocated_bytes();
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace peal::test
