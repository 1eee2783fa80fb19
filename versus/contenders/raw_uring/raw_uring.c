// SPDX-License-Identifier: BSD-3-Clause
// The floor of an echo server on io_uring, that is the least it can cost: uring_loop.h, and received bytes are sent
// back. A slow reader occupies at most one buffer.
#include "uring_loop.h"

struct echo_server {
  struct server common;
  char buffer[kReadBytes];
};

static struct connection* new_connection(void) { return calloc(1, sizeof(struct connection)); }

static void delete_connection(struct connection* connection) { free(connection); }

static void read_and_answer(struct server* server, struct connection* connection) {
  char* buffer = ((struct echo_server*)server)->buffer;
  const ssize_t got = recv(connection->fd, buffer, kReadBytes, MSG_DONTWAIT);
  if (got <= 0) {
    if (got < 0 && errno == EINTR) return;
    connection->news = 0;
    connection->ended = got == 0 || errno != EAGAIN;
    return;
  }
  if (got < kReadBytes && (connection->news & kMoreToRead) == 0) connection->news = 0;
  send_answer(server, connection, buffer, (size_t)got);
}

static void on_all_sent(struct server* server, struct connection* connection) {
  (void)server;
  (void)connection;
}

static void serve_thread(int listener) {
  struct echo_server* server = allocate(1, sizeof *server);
  open_server(&server->common, listener);
  for (;;) {
    submit_and_wait(&server->common);
    serve_completed(&server->common);
  }
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
