// SPDX-License-Identifier: BSD-3-Clause
// See bare_tools.h.
#include "bare_tools.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void usage(const struct bare_option* options, size_t count) {
  fprintf(stderr, "usage: %s IPV4:PORT", program_invocation_short_name);
  for (size_t i = 0; i < count; ++i) fprintf(stderr, " [%s N, default %g]", options[i].name, *options[i].value);
  fprintf(stderr, "\nexample: %s 127.0.0.1:9981\n", program_invocation_short_name);
  exit(2);
}

static int parse_target(const char* text, struct sockaddr_in* target) {
  char host[INET_ADDRSTRLEN] = "";
  unsigned port = 0;
  if (sscanf(text, "%15[0-9.]:%u", host, &port) != 2 || port == 0 || port > UINT16_MAX) return 0;
  target->sin_family = AF_INET;
  target->sin_port = htons((uint16_t)port);
  return inet_pton(AF_INET, host, &target->sin_addr) == 1;
}

static double* find_option(const char* name, const struct bare_option* options, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(options[i].name, name) == 0) return options[i].value;
  }
  return NULL;
}

struct sockaddr_in parse_command_line(int argc, char** argv, const struct bare_option* options, size_t count) {
  struct sockaddr_in target = {.sin_family = AF_UNSPEC};
  for (int i = 1; i < argc; ++i) {
    double* value = find_option(argv[i], options, count);
    if (value == NULL) {
      if (target.sin_family == AF_INET || !parse_target(argv[i], &target)) usage(options, count);
      continue;
    }
    char* end = NULL;
    if (++i == argc) usage(options, count);
    *value = strtod(argv[i], &end);
    if (end == argv[i] || *end != '\0' || !(*value >= 0)) usage(options, count);
  }
  if (target.sin_family != AF_INET) usage(options, count);
  signal(SIGPIPE, SIG_IGN);
  raise_fd_limit();
  return target;
}

int open_stream(const struct sockaddr_in* target, int source, int flags) {
  const int on = 1;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0) return -1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct sockaddr_in from = {.sin_family = AF_INET};
  int failed = 0;
  if (source >= 0) {
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(source % kSourceAddresses));
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    failed = bind(fd, (const struct sockaddr*)&from, sizeof from);
  }
  if (failed == 0) failed = connect(fd, (const struct sockaddr*)target, sizeof *target);
  if (failed != 0 && errno != EINPROGRESS) {
    const int reason = errno;
    close(fd);
    errno = reason;
    return -1;
  }
  return fd;
}

void fill_pattern(char* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes[i] = (char)(i % kPatternPeriod);
}

void hold_until_input_ends(int connections) {
  char ignored[256];
  printf("ready %d\n", connections);
  fflush(stdout);
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) continue;
}

static uint64_t read_clock(clockid_t clock) {
  struct timespec time;
  if (clock_gettime(clock, &time) != 0) fail("clock_gettime");
  return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

uint64_t now_ns(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t cpu_ns(int pid) {
  clockid_t clock;
  errno = clock_getcpuclockid(pid, &clock);
  if (errno != 0) fail("cannot find the CPU clock of --server-pid");
  return read_clock(clock);
}
