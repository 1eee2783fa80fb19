// SPDX-License-Identifier: BSD-3-Clause
// The floor of an echo server, that is the least it can cost: nothing is between the program and epoll. One loop per
// thread:
// - Epoll is edge-triggered, and each socket is registered once.
// - Each thread has one warm read buffer.
// - It writes first. It queues output and waits for writability only while a write is incomplete. Meanwhile it does not
//   read, so a slow reader occupies at most one buffer.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "contender.h"

enum { kReadBytes = 64 * 1024, kEventsPerWait = 512, kReadsPerTurn = 16 };

static const uint32_t kReading = EPOLLIN | EPOLLRDHUP | EPOLLET;
static const uint32_t kWriting = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
// Event flags that announce an end of stream, an error or urgent data. If an event has one of these flags, the socket
// may hold more after a short read, so the program reads again. Without these flags, a short read means that the socket
// is empty.
static const uint32_t kMoreToRead = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;

struct unsent {
  size_t size;
  size_t sent;
  char bytes[];
};

// The unsent output of each connection, indexed by the connection's fd. An entry is NULL if all output is sent. Only
// the thread that serves the fd uses its entry.
static struct unsent** unsent_of;

static void close_stream(int fd) {
  free(unsent_of[fd]);
  unsent_of[fd] = NULL;
  close(fd);
}

// Changes the events for which epoll watches the socket. Epoll also reports again the events that are ready now,
// although it is edge-triggered. If the change fails, closes the connection.
static void rearm(int poller, int fd, uint32_t interest) {
  struct epoll_event event = {.events = interest, .data.fd = fd};
  if (epoll_ctl(poller, EPOLL_CTL_MOD, fd, &event) != 0) close_stream(fd);
}

static void keep_unsent(int poller, int fd, const char* bytes, size_t size) {
  struct unsent* rest = malloc(sizeof *rest + size);
  if (rest == NULL) {
    close_stream(fd);
    return;
  }
  rest->size = size;
  rest->sent = 0;
  memcpy(rest->bytes, bytes, size);
  unsent_of[fd] = rest;
  rearm(poller, fd, kWriting);
}

static void write_unsent(int poller, int fd) {
  struct unsent* rest = unsent_of[fd];
  const ssize_t written = write(fd, rest->bytes + rest->sent, rest->size - rest->sent);
  if (written < 0) {
    if (errno != EAGAIN && errno != EINTR) close_stream(fd);
    return;
  }
  rest->sent += (size_t)written;
  if (rest->sent < rest->size) {
    rearm(poller, fd, kWriting);
    return;
  }
  free(rest);
  unsent_of[fd] = NULL;
  rearm(poller, fd, kReading);
}

static void serve_stream(int poller, int fd, uint32_t events, char* buffer) {
  if (unsent_of[fd] != NULL) {
    write_unsent(poller, fd);
    return;
  }
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    const ssize_t got = read(fd, buffer, kReadBytes);
    if (got <= 0) {
      if (got < 0 && errno == EINTR) continue;
      if (got == 0 || errno != EAGAIN) close_stream(fd);
      return;
    }
    const ssize_t written = write(fd, buffer, (size_t)got);
    if (written != got) {
      if (written < 0 && errno != EAGAIN && errno != EINTR) {
        close_stream(fd);
        return;
      }
      const size_t done = written < 0 ? 0 : (size_t)written;
      keep_unsent(poller, fd, buffer + done, (size_t)got - done);
      return;
    }
    if (got < kReadBytes && (events & kMoreToRead) == 0) return;
  }
  rearm(poller, fd, kReading);
}

static void start_stream(void* poller, int fd) {
  struct epoll_event event = {.events = kReading, .data.fd = fd};
  if (epoll_ctl((int)(intptr_t)poller, EPOLL_CTL_ADD, fd, &event) != 0) close(fd);
}

static void serve_thread(int listener) {
  struct epoll_event events[kEventsPerWait];
  const int poller = epoll_create1(EPOLL_CLOEXEC);
  char* buffer = malloc(kReadBytes);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = listener};
  if (poller < 0 || buffer == NULL || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll");
  bool accepted_all = true;
  for (;;) {
    const int count = epoll_wait(poller, events, kEventsPerWait, accepted_all ? -1 : kContenderRetryMs);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == listener) {
        accepted_all = accept_all(listener, start_stream, (void*)(intptr_t)poller);
      } else {
        serve_stream(poller, events[i].data.fd, events[i].events, buffer);
      }
    }
    if (!accepted_all) accepted_all = accept_all(listener, start_stream, (void*)(intptr_t)poller);
  }
}

int serve(const struct contender_options* options) {
  unsent_of = allocate(raise_fd_limit(), sizeof *unsent_of);
  return serve_on_each_thread(options, serve_thread);
}
