// SPDX-License-Identifier: BSD-3-Clause
// See contender.h.
#include "contender.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kMaxThreads = 256 };

// The default list of extra options, which is empty. This symbol is weak: a program with extra options defines its own
// list, which replaces this one.
struct contender_word contender_words[] __attribute__((weak)) = {{.name = NULL}};

static void usage(void) {
  fprintf(stderr, "usage: %s --listen IPV4:PORT [--threads N]", program_invocation_short_name);
  for (const struct contender_word* word = contender_words; word->name != NULL; ++word) {
    fprintf(stderr, word->is_optional ? " [%s %s]" : " %s %s", word->name, word->shown);
  }
  fprintf(stderr,
          "\nServes until SIGTERM. Port 0 picks a free port. The address is printed when the server listens.\n"
          "example: %s --listen 127.0.0.1:9981 --threads 2",
          program_invocation_short_name);
  for (const struct contender_word* word = contender_words; word->name != NULL; ++word) {
    if (!word->is_optional) fprintf(stderr, " %s %s", word->name, word->shown);
  }
  fputc('\n', stderr);
  exit(2);
}

static int parse_address(const char* text, struct sockaddr_in* address) {
  char host[INET_ADDRSTRLEN];
  const char* colon = strrchr(text, ':');
  if (colon == NULL || (size_t)(colon - text) >= sizeof host) return 0;
  memcpy(host, text, (size_t)(colon - text));
  host[colon - text] = '\0';
  char* end = NULL;
  const long port = strtol(colon + 1, &end, 10);
  if (end == colon + 1 || *end != '\0' || port < 0 || port > UINT16_MAX) return 0;
  address->sin_family = AF_INET;
  address->sin_port = htons((uint16_t)port);
  return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

static struct contender_word* find_word(const char* name) {
  struct contender_word* word = contender_words;
  while (word->name != NULL && strcmp(word->name, name) != 0) ++word;
  return word->name != NULL ? word : NULL;
}

static int has_all_words(void) {
  const struct contender_word* word = contender_words;
  while (word->name != NULL && (word->is_optional || word->value != NULL)) ++word;
  return word->name == NULL;
}

static struct contender_options parse_options(int argc, char** argv) {
  struct contender_options options = {.threads = 1};
  int listens = 0;
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) usage();
    if (strcmp(argv[i], "--listen") == 0) {
      listens = parse_address(argv[i + 1], &options.address);
    } else if (strcmp(argv[i], "--threads") == 0) {
      options.threads = atoi(argv[i + 1]);
    } else {
      struct contender_word* word = find_word(argv[i]);
      if (word == NULL) usage();
      word->value = argv[i + 1];
    }
  }
  if (!listens || !has_all_words() || options.threads < 1 || options.threads > kMaxThreads) usage();
  return options;
}

int open_listener(const struct sockaddr_in* address, int share_port) {
  const int on = 1;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) fail("socket");
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) fail("SO_REUSEADDR");
  if (share_port && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) fail("SO_REUSEPORT");
  if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) fail("TCP_NODELAY");
  if (bind(fd, (const struct sockaddr*)address, sizeof *address) != 0) fail("bind");
  if (listen(fd, kContenderBacklog) != 0) fail("listen");
  return fd;
}

void announce(int listener) {
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  char host[INET_ADDRSTRLEN];
  if (getsockname(listener, (struct sockaddr*)&address, &size) != 0) fail("getsockname");
  inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
  printf("listening on %s:%u\n", host, ntohs(address.sin_port));
  fflush(stdout);
}

bool accept_all(int listener, start_connection start, void* context) {
  for (;;) {
    const int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      start(context, fd);
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return false;
    }
  }
}

struct worker {
  serve_listener serve_one;
  int listener;
};

static void* run_worker(void* argument) {
  const struct worker* worker = argument;
  worker->serve_one(worker->listener);
  return NULL;
}

int serve_on_each_thread(const struct contender_options* options, serve_listener serve_one) {
  static struct worker workers[kMaxThreads];
  struct sockaddr_in address = options->address;
  socklen_t size = sizeof address;
  for (int i = 0; i < options->threads; ++i) {
    workers[i].serve_one = serve_one;
    workers[i].listener = open_listener(&address, options->threads > 1);
    // With port 0, the kernel chooses a free port for the first socket. The other sockets then use the same port.
    if (getsockname(workers[i].listener, (struct sockaddr*)&address, &size) != 0) fail("getsockname");
  }
  announce(workers[0].listener);
  for (int i = 1; i < options->threads; ++i) {
    pthread_t thread;
    errno = pthread_create(&thread, NULL, run_worker, &workers[i]);
    if (errno != 0) fail("pthread_create");
    pthread_detach(thread);
  }
  serve_one(workers[0].listener);
  return 1;
}

static void end_process(int signal) {
  (void)signal;
  _exit(0);
}

int main(int argc, char** argv) {
  const struct contender_options options = parse_options(argc, argv);
  struct sigaction ends = {.sa_handler = end_process};
  signal(SIGPIPE, SIG_IGN);
  sigaction(SIGTERM, &ends, NULL);
  sigaction(SIGINT, &ends, NULL);
  raise_fd_limit();
  return serve(&options);
}
