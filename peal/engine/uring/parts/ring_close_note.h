// SPDX-License-Identifier: BSD-3-Clause
// note_ring_close(): tells the thread sanitizer that a ring closes an fd. The sanitizer follows fds by the calls of
// libc and does not see this close (see <sanitizer/linux_syscall_hooks.h>). It would report a race between users of the
// old fd and of a new fd with the same number.
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

// Tells the thread sanitizer that `fd` will be closed. Must be called before the calling thread requests the close, and
// after every other use of `fd` in this process has ended. Does nothing without the sanitizer.
inline void note_ring_close([[maybe_unused]] int fd) {
#if defined(PEAL_NOTE_RING_CLOSE)
  __sanitizer_syscall_pre_close(fd);
#endif
}

}  // namespace peal::detail
