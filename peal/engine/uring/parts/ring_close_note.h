// SPDX-License-Identifier: BSD-3-Clause
// note_ring_close(): tells the thread sanitizer that a ring closes an fd. The sanitizer follows fds by the calls of
// libc
// (<sanitizer/linux_syscall_hooks.h>) and does not see this close. It would report a race between users of the old fd
// and of a new fd with the same number.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define PEAL_NOTE_RING_CLOSE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PEAL_NOTE_RING_CLOSE 1
#endif
#endif

#if defined(PEAL_NOTE_RING_CLOSE)
#include <sanitizer/linux_syscall_hooks.h>
#endif

namespace peal::detail {

// Must be called before the calling thread requests the close, when no other thread of this process uses `fd` any more.
// Does nothing without the sanitizer.
inline void note_ring_close([[maybe_unused]] int fd) {
#if defined(PEAL_NOTE_RING_CLOSE)
  __sanitizer_syscall_pre_close(fd);
#endif
}

}  // namespace peal::detail
