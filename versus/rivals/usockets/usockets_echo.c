// SPDX-License-Identifier: BSD-3-Clause
// An echo server on uSockets: each thread has a loop, a context and a listener on the shared port. It writes first;
// bytes that the socket does not take wait in a buffer of the connection for on_writable. No TLS, no idle timeout. The
// library itself sets TCP_NODELAY and a backlog of 512.
#include <libusockets.h>
#include <stdlib.h>
#include <string.h>

#include "rival.h"

struct echo_socket {
  char* waiting;  // bytes that the socket has not taken yet
  size_t begin;
  size_t end;
  size_t room;
};

static struct echo_socket* echo_of(struct us_socket_t* socket) { return us_socket_ext(0, socket); }

static void keep(struct echo_socket* echo, const char* data, size_t size) {
  if (echo->begin > 0) {
    memmove(echo->waiting, echo->waiting + echo->begin, echo->end - echo->begin);
    echo->end -= echo->begin;
    echo->begin = 0;
  }
  if (echo->end + size > echo->room) {
    echo->room = 2 * (echo->end + size);
    echo->waiting = realloc(echo->waiting, echo->room);
    if (echo->waiting == NULL) fail("realloc");
  }
  memcpy(echo->waiting + echo->end, data, size);
  echo->end += size;
}

static struct us_socket_t* on_open(struct us_socket_t* socket, int is_client, char* ip, int ip_size) {
  (void)is_client;
  (void)ip;
  (void)ip_size;
  memset(echo_of(socket), 0, sizeof(struct echo_socket));
  return socket;
}

static struct us_socket_t* on_data(struct us_socket_t* socket, char* data, int size) {
  struct echo_socket* echo = echo_of(socket);
  const int sent = echo->end > echo->begin ? 0 : us_socket_write(0, socket, data, size, 0);
  if (sent < size) keep(echo, data + sent, (size_t)(size - sent));
  return socket;
}

static struct us_socket_t* on_writable(struct us_socket_t* socket) {
  struct echo_socket* echo = echo_of(socket);
  const size_t left = echo->end - echo->begin;
  if (left > 0) {
    const int most = left > 1 << 30 ? 1 << 30 : (int)left;
    echo->begin += (size_t)us_socket_write(0, socket, echo->waiting + echo->begin, most, 0);
  }
  if (echo->begin == echo->end) echo->begin = echo->end = 0;
  return socket;
}

static struct us_socket_t* on_close(struct us_socket_t* socket, int code, void* reason) {
  (void)code;
  (void)reason;
  free(echo_of(socket)->waiting);
  return socket;
}

// Called when the client has finished sending. Closes the connection. Unsent bytes are lost, as in the library's own
// examples.
static struct us_socket_t* on_end(struct us_socket_t* socket) {
  us_socket_shutdown(0, socket);
  return us_socket_close(0, socket, 0, NULL);
}

static struct us_socket_t* on_timeout(struct us_socket_t* socket) { return socket; }
static void on_loop(struct us_loop_t* loop) { (void)loop; }

static void serve_thread(const struct rival_place* place) {
  struct us_loop_t* loop = us_create_loop(NULL, on_loop, on_loop, on_loop, 0);
  const struct us_socket_context_options_t options = {0};
  struct us_socket_context_t* context = us_create_socket_context(0, loop, 0, options);
  us_socket_context_on_open(0, context, on_open);
  us_socket_context_on_data(0, context, on_data);
  us_socket_context_on_writable(0, context, on_writable);
  us_socket_context_on_close(0, context, on_close);
  us_socket_context_on_timeout(0, context, on_timeout);
  us_socket_context_on_end(0, context, on_end);
  if (us_socket_context_listen(0, context, place->host, place->port, 0, sizeof(struct echo_socket)) == NULL) {
    fail("us_socket_context_listen");
  }
  rival_listens();
  us_loop_run(loop);
}

int serve(const struct contender_options* options) { return rival_on_each_thread(options, serve_thread); }
