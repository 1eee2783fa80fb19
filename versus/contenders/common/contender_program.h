// SPDX-License-Identifier: BSD-3-Clause
// What every program of these folders shares: servers, bare clients and drums.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Prints "name: what: the error of errno" and ends the process with 1.
void fail(const char* what) __attribute__((noreturn));

// `count` zeroed things of so many bytes each; where there is no memory, the process ends.
void* allocate(size_t count, size_t bytes);

// Raises the limit of open files to its ceiling, and says which that is.
size_t raise_fd_limit(void);

#ifdef __cplusplus
}
#endif
