// SPDX-License-Identifier: BSD-3-Clause
// The floor of HTTP on io_uring, that is the least it can cost: raw_request.h over uring_loop.h. The answers to all
// requests of one receive are written into one buffer. They usually have few bytes, so the ring sends them.
//
// A connection has its own memory only while it holds an incomplete request or an unsent answer. While an answer waits,
// the connection is not read.
#include "contender_http.h"
#include "raw_request.h"
#include "uring_loop.h"

enum { kOutputBytes = 64 * 1024 };

struct client {
  struct connection common;
  struct kept* input;  // input without an answer so far; NULL if there is none
};

struct http_server {
  struct server common;
  char in[kHttpMaxHeaderBytes + kReadBytes];  // kept input is always less than one request
  char out[kOutputBytes];
};

static struct connection* new_connection(void) { return calloc(1, sizeof(struct client)); }

static void delete_connection(struct connection* connection) {
  free(((struct client*)connection)->input);
  free(connection);
}

// Answers the requests in the first `size` bytes of http->in. Stops when an answer is not sent yet. Keeps a copy of the
// input that is not answered.
static void answer_input(struct http_server* http, struct connection* connection, size_t size) {
  struct server* server = &http->common;
  size_t at = 0;
  while (!connection->ended && !is_sending(server, connection)) {
    const struct raw_outcome outcome = raw_answer(http->in + at, size - at, http->out, kOutputBytes);
    if (outcome.written == 0) break;
    at += outcome.taken;
    send_answer(server, connection, http->out, outcome.written);
    if (outcome.ends) connection->ended = true;
  }
  if (at < size && !connection->ended) {
    ((struct client*)connection)->input = keep(connection, http->in + at, size - at);
  }
}

// Moves the input that was kept for this connection to the front of http->in. Returns the size of this input, or 0 if
// none was kept.
static size_t take_kept(struct http_server* http, struct connection* connection) {
  struct client* client = (struct client*)connection;
  struct kept* kept = client->input;
  if (kept == NULL) return 0;
  const size_t size = kept->size;
  memcpy(http->in, kept->bytes, size);
  client->input = NULL;
  free(kept);
  return size;
}

static void read_and_answer(struct server* server, struct connection* connection) {
  struct http_server* http = (struct http_server*)server;
  const size_t held = take_kept(http, connection);
  const ssize_t got = recv(connection->fd, http->in + held, kReadBytes, MSG_DONTWAIT);
  if (got > 0) {
    if (got < kReadBytes && (connection->news & kMoreToRead) == 0) connection->news = 0;
    answer_input(http, connection, held + (size_t)got);
  } else if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    if (errno == EAGAIN) connection->news = 0;
    if (held > 0) ((struct client*)connection)->input = keep(connection, http->in, held);
  } else {
    connection->ended = true;
  }
}

// Called when a delayed answer has been sent. Answers the input that was kept while the answer waited. No new event
// would report this input.
static void on_all_sent(struct server* server, struct connection* connection) {
  struct http_server* http = (struct http_server*)server;
  answer_input(http, connection, take_kept(http, connection));
}

static void serve_thread(int listener) {
  struct http_server* server = allocate(1, sizeof *server);
  open_server(&server->common, listener);
  for (;;) {
    submit_and_wait(&server->common);
    raw_answers_refresh();
    serve_completed(&server->common);
  }
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
