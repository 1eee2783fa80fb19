// SPDX-License-Identifier: BSD-3-Clause
// Holds idle connections that have exchanged one message: opens --connections connections, sends one message on each
// and receives its echo. Then prints "ready N" and holds the connections until its standard input ends. Meanwhile the
// parent process reads the server's memory.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare_tools.h"

static void speak_once(int fd, const char* message, char* answer, size_t size) {
  if (send(fd, message, size, MSG_NOSIGNAL) != (ssize_t)size) fail("send");
  if (recv(fd, answer, size, MSG_WAITALL) != (ssize_t)size) fail("recv");
}

int main(int argc, char** argv) {
  double connections = 5000, size = 64;
  const struct bare_option options[] = {{"--connections", &connections}, {"--size", &size}};
  const struct sockaddr_in target = parse_command_line(argc, argv, options, sizeof options / sizeof *options);
  const size_t message_size = (size_t)size;
  char* message = malloc(message_size);
  char* answer = malloc(message_size);
  errno = EINVAL;
  if (message == NULL || answer == NULL || message_size == 0) fail("--size must be at least 1");
  fill_pattern(message, message_size);
  int opened = 0;
  for (; opened < (int)connections; ++opened) {
    const int fd = open_stream(&target, opened, 0);
    if (fd < 0) fail("connect");
    speak_once(fd, message, answer, message_size);
  }
  hold_until_input_ends(opened);
  return 0;
}
