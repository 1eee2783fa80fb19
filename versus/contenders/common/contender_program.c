// SPDX-License-Identifier: BSD-3-Clause
// See contender_program.h.
#include "contender_program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void fail(const char* what) {
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
  exit(1);
}

void* allocate(size_t count, size_t bytes) {
  void* memory = calloc(count, bytes);
  if (memory == NULL) fail("calloc");
  return memory;
}

size_t raise_fd_limit(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) fail("getrlimit");
  files.rlim_cur = files.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &files) != 0) fail("setrlimit");
  return files.rlim_cur;
}
