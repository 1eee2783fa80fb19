// SPDX-License-Identifier: BSD-3-Clause
// An echo server on libuv. All reads of a loop share one warm buffer, and uv_try_write() writes the bytes back
// immediately. Only bytes that the kernel does not take are copied into a pooled write request. Until they are written,
// the connection is not read. One loop per thread, each with its own listener on the shared port.
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "contender.h"

enum { kReadBytes = 64 * 1024, kPoolLimit = 64 };

struct unsent {
  uv_write_t request;
  struct unsent* next;
  char bytes[kReadBytes];
};

struct server {
  uv_loop_t loop;
  uv_tcp_t listener;
  struct unsent* pool;
  unsigned pooled;
  char read_buffer[kReadBytes];
};

static struct server* server_of(const uv_handle_t* handle) { return handle->loop->data; }

static struct unsent* take_unsent(struct server* server) {
  struct unsent* unsent = server->pool;
  if (unsent == NULL) return malloc(sizeof *unsent);
  server->pool = unsent->next;
  --server->pooled;
  return unsent;
}

static void give_back(struct server* server, struct unsent* unsent) {
  if (server->pooled == kPoolLimit) {
    free(unsent);
    return;
  }
  unsent->next = server->pool;
  server->pool = unsent;
  ++server->pooled;
}

static void on_closed(uv_handle_t* handle) { free(handle); }

static void close_stream(uv_stream_t* stream) {
  if (!uv_is_closing((uv_handle_t*)stream)) uv_close((uv_handle_t*)stream, on_closed);
}

static void on_buffer_wanted(uv_handle_t* handle, size_t suggested, uv_buf_t* buffer) {
  (void)suggested;
  *buffer = uv_buf_init(server_of(handle)->read_buffer, kReadBytes);
}

static void on_read(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer);

static void on_written(uv_write_t* request, int status) {
  uv_stream_t* stream = request->handle;
  give_back(server_of((uv_handle_t*)stream), (struct unsent*)request);
  if (status == UV_ECANCELED) return;
  if (status < 0 || uv_read_start(stream, on_buffer_wanted, on_read) != 0) close_stream(stream);
}

static void on_read(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer) {
  if (got == 0) return;
  if (got < 0) {
    close_stream(stream);
    return;
  }
  uv_buf_t rest = uv_buf_init(buffer->base, (unsigned)got);
  const int written = uv_try_write(stream, &rest, 1);
  if (written == got) return;
  if (written < 0 && written != UV_EAGAIN) {
    close_stream(stream);
    return;
  }
  struct unsent* unsent = take_unsent(server_of((uv_handle_t*)stream));
  if (unsent == NULL) {
    close_stream(stream);
    return;
  }
  const size_t done = written < 0 ? 0 : (size_t)written;
  rest = uv_buf_init(unsent->bytes, (unsigned)((size_t)got - done));
  memcpy(unsent->bytes, buffer->base + done, rest.len);
  uv_read_stop(stream);
  if (uv_write(&unsent->request, stream, &rest, 1, on_written) != 0) {
    give_back(server_of((uv_handle_t*)stream), unsent);
    close_stream(stream);
  }
}

static void on_connection(uv_stream_t* listener, int status) {
  if (status < 0) return;  // no fd is free: libuv itself drops the connection with a spare fd
  uv_tcp_t* stream = malloc(sizeof *stream);
  if (stream == NULL) return;
  uv_tcp_init(listener->loop, stream);
  if (uv_accept(listener, (uv_stream_t*)stream) != 0 ||
      uv_read_start((uv_stream_t*)stream, on_buffer_wanted, on_read) != 0) {
    close_stream((uv_stream_t*)stream);
  }
}

static void serve_thread(int listener) {
  struct server* server = calloc(1, sizeof *server);
  if (server == NULL || uv_loop_init(&server->loop) != 0) fail("uv_loop_init");
  server->loop.data = server;
  uv_tcp_init(&server->loop, &server->listener);
  if (uv_tcp_open(&server->listener, listener) != 0) fail("uv_tcp_open");
  if (uv_listen((uv_stream_t*)&server->listener, kContenderBacklog, on_connection) != 0) fail("uv_listen");
  uv_run(&server->loop, UV_RUN_DEFAULT);
  fail("uv_run");
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
