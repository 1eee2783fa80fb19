// SPDX-License-Identifier: BSD-3-Clause
// Functions that all programs of these folders share: servers, bare clients and drum contenders.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Prints the program's name, `what` and the text of errno to stderr. Then ends the process with exit code 1.
void fail(const char* what) __attribute__((noreturn));

// Returns zeroed memory for `count` objects of `bytes` bytes each. If there is no memory, ends the process.
void* allocate(size_t count, size_t bytes);

// Raises the process's limit of open fds to the maximum (the hard limit of RLIMIT_NOFILE). Returns the new limit.
size_t raise_fd_limit(void);

#ifdef __cplusplus
}
#endif
