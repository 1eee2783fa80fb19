// SPDX-License-Identifier: BSD-3-Clause
// The thread sanitizer follows fds by the calls of libc (<sanitizer/linux_syscall_hooks.h>); one that a ring closes it
// must be told of, or it takes whoever gets the number next for a user of the old fd.
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

// The calling thread is about to ask for it, and nobody in this process uses `fd` any more. Without the sanitizer it is
// empty.
inline void note_ring_close([[maybe_unused]] int fd) {
#if defined(PEAL_NOTE_RING_CLOSE)
  __sanitizer_syscall_pre_close(fd);
#endif
}

}  // namespace peal::detail
