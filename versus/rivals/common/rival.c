// SPDX-License-Identifier: BSD-3-Clause
// See rival.h.
#include "rival.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kKnockEveryMs = 1 };

typedef void (*serve_place)(const struct rival_place* place);

static struct rival_place shared_place;
static serve_place shared_serve;
static atomic_int silent_threads;

struct rival_place rival_place_of(const struct contender_options* options) {
  struct rival_place place;
  struct sockaddr_in address = options->address;
  socklen_t size = sizeof address;
  if (address.sin_port == 0) {
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (probe < 0) fail("socket");
    if (bind(probe, (const struct sockaddr*)&address, sizeof address) != 0) fail("bind");
    if (getsockname(probe, (struct sockaddr*)&address, &size) != 0) fail("getsockname");
    close(probe);  // it was never connected, so the port is free again immediately
  }
  if (inet_ntop(AF_INET, &address.sin_addr, place.host, sizeof place.host) == NULL) fail("inet_ntop");
  place.port = ntohs(address.sin_port);
  return place;
}

void rival_announce(const struct rival_place* place) {
  printf("listening on %s:%d\n", place->host, place->port);
  fflush(stdout);
}

void rival_listens(void) {
  if (atomic_fetch_sub(&silent_threads, 1) == 1) rival_announce(&shared_place);
}

static void* run_thread(void* nothing) {
  shared_serve(&shared_place);
  return nothing;
}

static void start_thread(void* (*body)(void*), void* argument) {
  pthread_t thread;
  errno = pthread_create(&thread, NULL, body, argument);
  if (errno != 0) fail("pthread_create");
  pthread_detach(thread);
}

int rival_on_each_thread(const struct contender_options* options, serve_place serve_one) {
  shared_place = rival_place_of(options);
  shared_serve = serve_one;
  atomic_store(&silent_threads, options->threads);
  for (int i = 1; i < options->threads; ++i) start_thread(run_thread, NULL);
  run_thread(NULL);
  return 1;
}

static void* knock(void* nothing) {
  const struct timespec pause = {.tv_nsec = kKnockEveryMs * 1000000};
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((in_port_t)shared_place.port)};
  inet_pton(AF_INET, shared_place.host, &address.sin_addr);
  for (;;) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) fail("socket");
    const int refused = connect(fd, (const struct sockaddr*)&address, sizeof address);
    close(fd);
    if (refused == 0) break;
    nanosleep(&pause, NULL);
  }
  rival_announce(&shared_place);
  return nothing;
}

void rival_announce_once_it_accepts(const struct rival_place* place) {
  shared_place = *place;
  start_thread(knock, NULL);
}
