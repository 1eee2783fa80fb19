// SPDX-License-Identifier: BSD-3-Clause
// An echo server on libev. libev has watchers but no buffers, so reading and writing are the program's own code. Tuned
// in these ways:
// - It writes first. A write watcher and a queue exist only while a write is incomplete. Meanwhile the connection is
//   not read, so a slow reader occupies at most one buffer.
// - Each thread has a loop and a listener; each loop has one warm read buffer.
// - The watchers are inside the connection's own memory.
// - libev handles no signals or child processes here, and priorities keep their defaults.
#include <errno.h>
#include <ev.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "contender.h"

enum { kReadBytes = 64 * 1024 };

struct acceptor {
  ev_io ready;
  ev_timer pause;
  char* buffer;
};

struct connection {
  ev_io readable;
  ev_io writable;
  char* unsent;  // NULL if nothing waits to be written
  size_t size;
  size_t sent;
};

static void close_connection(struct ev_loop* loop, struct connection* connection) {
  ev_io_stop(loop, &connection->readable);
  ev_io_stop(loop, &connection->writable);
  close(connection->readable.fd);
  free(connection->unsent);
  free(connection);
}

static void keep_unsent(struct ev_loop* loop, struct connection* connection, const char* bytes, size_t size) {
  connection->unsent = malloc(size);
  if (connection->unsent == NULL) {
    close_connection(loop, connection);
    return;
  }
  memcpy(connection->unsent, bytes, size);
  connection->size = size;
  connection->sent = 0;
  ev_io_stop(loop, &connection->readable);
  ev_io_start(loop, &connection->writable);
}

static void on_writable(struct ev_loop* loop, ev_io* watcher, int events) {
  (void)events;
  struct connection* connection = watcher->data;
  const ssize_t written =
      write(watcher->fd, connection->unsent + connection->sent, connection->size - connection->sent);
  if (written < 0) {
    if (errno != EAGAIN && errno != EINTR) close_connection(loop, connection);
    return;
  }
  connection->sent += (size_t)written;
  if (connection->sent < connection->size) return;
  free(connection->unsent);
  connection->unsent = NULL;
  ev_io_stop(loop, &connection->writable);
  ev_io_start(loop, &connection->readable);
}

static void on_readable(struct ev_loop* loop, ev_io* watcher, int events) {
  (void)events;
  struct connection* connection = watcher->data;
  const struct acceptor* acceptor = ev_userdata(loop);
  const ssize_t got = read(watcher->fd, acceptor->buffer, kReadBytes);
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) close_connection(loop, connection);
    return;
  }
  const ssize_t written = write(watcher->fd, acceptor->buffer, (size_t)got);
  if (written == got) return;
  if (written < 0 && errno != EAGAIN && errno != EINTR) {
    close_connection(loop, connection);
    return;
  }
  const size_t done = written < 0 ? 0 : (size_t)written;
  keep_unsent(loop, connection, acceptor->buffer + done, (size_t)got - done);
}

static void start_stream(void* loop, int fd) {
  struct connection* connection = calloc(1, sizeof *connection);
  if (connection == NULL) {
    close(fd);
    return;
  }
  ev_io_init(&connection->readable, on_readable, fd, EV_READ);
  ev_io_init(&connection->writable, on_writable, fd, EV_WRITE);
  connection->readable.data = connection;
  connection->writable.data = connection;
  ev_io_start(loop, &connection->readable);
}

static void on_acceptable(struct ev_loop* loop, ev_io* watcher, int events) {
  (void)events;
  struct acceptor* acceptor = ev_userdata(loop);
  if (accept_all(watcher->fd, start_stream, loop)) return;
  // No fd is free. Without a pause, the loop would only repeat the failing accept().
  ev_io_stop(loop, watcher);
  ev_timer_set(&acceptor->pause, (double)kContenderRetryMs / 1000., 0.);
  ev_timer_start(loop, &acceptor->pause);
}

static void on_pause_over(struct ev_loop* loop, ev_timer* watcher, int events) {
  (void)watcher;
  (void)events;
  struct acceptor* acceptor = ev_userdata(loop);
  ev_io_start(loop, &acceptor->ready);
}

static void serve_thread(int listener) {
  struct ev_loop* loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
  struct acceptor acceptor = {.buffer = malloc(kReadBytes)};
  if (loop == NULL || acceptor.buffer == NULL) fail("ev_loop_new");
  ev_set_userdata(loop, &acceptor);
  ev_io_init(&acceptor.ready, on_acceptable, listener, EV_READ);
  ev_init(&acceptor.pause, on_pause_over);
  ev_io_start(loop, &acceptor.ready);
  ev_run(loop, 0);
  fail("ev_run");
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
