// SPDX-License-Identifier: BSD-3-Clause
// See raw_tls_loop.h.
#include "raw_tls_loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <openssl/err.h>

#include "contender_tls.h"

// kReadBytes is the size of OpenSSL's read buffer. It holds four records, so one read() can fetch a message of 64 KiB.
// This saves 4 % of the CPU time for such messages.
enum { kEventsPerWait = 512, kReadsPerTurn = 16, kRecordBytes = 16 * 1024, kReadBytes = 66000 };

static SSL_CTX* tls_context;  // shared by all threads, so that a client can resume its session on any thread

struct raw_tls_kept {
  size_t size;
  size_t done;
  char bytes[];
};

static struct raw_tls_kept* keep(const char* bytes, size_t size) {
  struct raw_tls_kept* kept = malloc(sizeof *kept + size);
  if (kept == NULL) fail("malloc");
  kept->size = size;
  kept->done = 0;
  memcpy(kept->bytes, bytes, size);
  return kept;
}

static void close_stream(struct raw_tls_stream* stream, bool says_so) {
  const int fd = SSL_get_fd(stream->ssl);
  if (says_so) SSL_shutdown(stream->ssl);  // sends close_notify; does not wait for the peer's
  ERR_clear_error();
  SSL_free(stream->ssl);
  free(stream->unread);
  free(stream->unsent);
  free(stream);
  close(fd);
}

static void rearm(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, uint32_t interest) {
  struct epoll_event event = {.events = interest, .data.ptr = stream};
  stream->waits_to_write = (interest & EPOLLOUT) != 0;
  if (epoll_ctl(loop->poller, EPOLL_CTL_MOD, SSL_get_fd(stream->ssl), &event) != 0) fail("epoll_ctl");
}

// Encrypts and writes bytes, one record at a time, until all are written or the socket is full. Returns the number of
// bytes that were written, or -1 if the stream has failed.
static ssize_t write_some(struct raw_tls_stream* stream, const char* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    const int written = SSL_write(stream->ssl, out + done, (int)(size - done));
    if (written <= 0) return SSL_get_error(stream->ssl, written) == SSL_ERROR_WANT_WRITE ? (ssize_t)done : -1;
    done += (size_t)written;
  }
  return (ssize_t)done;
}

bool raw_tls_send(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* out, size_t size) {
  const ssize_t written = write_some(stream, out, size);
  if (written == (ssize_t)size) return true;
  if (written < 0) {
    stream->ends = true;
    stream->sends = false;
    SSL_set_quiet_shutdown(stream->ssl, 1);  // the stream has failed: no close_notify can be sent
    return false;
  }
  stream->unsent = keep(out + written, size - (size_t)written);
  rearm(loop, stream, EPOLLOUT);
  return false;
}

// Continues to send the stream's unsent output. Returns false if some of it is still unsent. Returns true if all of it
// is sent or the stream has failed.
static bool send_rest(struct raw_tls_stream* stream) {
  struct raw_tls_kept* rest = stream->unsent;
  const ssize_t written = write_some(stream, rest->bytes + rest->done, rest->size - rest->done);
  rest->done += written > 0 ? (size_t)written : 0;
  if (written >= 0 && rest->done < rest->size) return false;
  free(rest);
  stream->unsent = NULL;
  if (written < 0) {
    stream->ends = true;
    stream->sends = false;
    SSL_set_quiet_shutdown(stream->ssl, 1);
  }
  return true;
}

static size_t take_unread(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  if (stream->unread == NULL) return 0;
  const size_t size = stream->unread->size;
  memcpy(loop->in, stream->unread->bytes, size);
  free(stream->unread);
  stream->unread = NULL;
  return size;
}

// Passes the first `size` bytes of loop->in to the server. If the server has begun an answer in pieces, lets it send
// some of them. Returns true if the caller may read more from this stream. Returns false if the stream was closed or
// must wait until the socket is writable.
static bool hand_over(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, size_t size) {
  const size_t taken = raw_tls_take(loop, stream, loop->in, size);
  if (taken < size && !stream->ends) stream->unread = keep(loop->in + taken, size - taken);
  if (stream->sends) {
    for (int piece = 0; piece < kReadsPerTurn && stream->sends && stream->unsent == NULL; ++piece) {
      raw_tls_send_piece(loop, stream);
    }
    // The loop serves other streams now. This stream continues with the rest of the answer, or with later requests,
    // when epoll reports that its socket is writable.
    if (stream->unsent == NULL && !stream->ends) {
      stream->was_sending = true;
      rearm(loop, stream, EPOLLOUT);
      return false;
    }
  }
  if (stream->unsent != NULL) return false;
  if (!stream->ends) return true;
  close_stream(stream, true);
  return false;
}

// Handles an SSL_read() that returned no data: waits for the event that OpenSSL needs, or closes the stream. `why` is
// the result of SSL_get_error().
static void did_not_read(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, int why) {
  if (why == SSL_ERROR_WANT_WRITE) {
    if (!stream->waits_to_write) rearm(loop, stream, EPOLLOUT);
  } else if (why == SSL_ERROR_WANT_READ) {
    if (stream->waits_to_write) rearm(loop, stream, EPOLLIN);
  } else {
    close_stream(stream, why == SSL_ERROR_ZERO_RETURN);
  }
}

static void read_stream(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  size_t held = 0;
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    if (held == 0) held = take_unread(loop, stream);
    const int got = SSL_read(stream->ssl, loop->in + held, kTlsInputBytes - (int)held);
    if (got <= 0) {
      // No other record has arrived, so the `held` bytes are passed to the server now. If they are an incomplete
      // request, the server answers nothing, and these bytes are kept.
      const int why = SSL_get_error(stream->ssl, got);
      if (held > 0 && !hand_over(loop, stream, held)) return;
      did_not_read(loop, stream, why);
      return;
    }
    held += (size_t)got;
    const bool more = SSL_has_pending(stream->ssl) == 1;
    if (more && raw_tls_gathers && held + kRecordBytes <= kTlsInputBytes && turn + 1 < kReadsPerTurn) continue;
    if (!hand_over(loop, stream, held)) return;
    held = 0;
    if (!more) {
      if (stream->waits_to_write) rearm(loop, stream, EPOLLIN);
      return;
    }
  }
  // OpenSSL may still hold data that it has read from the socket, and epoll does not know of this data. With EPOLLOUT,
  // epoll reports the stream again as soon as the socket is writable.
  rearm(loop, stream, EPOLLIN | EPOLLOUT);
}

static void serve_stream(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  const bool was_sending = stream->unsent != NULL || stream->was_sending;
  if (stream->unsent != NULL && !send_rest(stream)) return;
  stream->was_sending = false;
  if (was_sending && !hand_over(loop, stream, take_unread(loop, stream))) return;
  read_stream(loop, stream);
}

static void open_stream(void* loop, int fd) {
  struct raw_tls_stream* stream = allocate(1, sizeof *stream);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
  stream->ssl = SSL_new(tls_context);
  if (stream->ssl == NULL || SSL_set_fd(stream->ssl, fd) != 1) fail("SSL_new");
  SSL_set_accept_state(stream->ssl);
  if (epoll_ctl(((const struct raw_tls_loop*)loop)->poller, EPOLL_CTL_ADD, fd, &event) != 0)
    close_stream(stream, false);
}

static void serve_thread(int listener) {
  struct epoll_event events[kEventsPerWait];
  const struct raw_tls_loop loop = {
      .poller = epoll_create1(EPOLL_CLOEXEC), .in = malloc(kTlsInputBytes), .out = malloc(kTlsOutputBytes)};
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
  if (loop.poller < 0 || loop.in == NULL || loop.out == NULL ||
      epoll_ctl(loop.poller, EPOLL_CTL_ADD, listener, &event) != 0) {
    fail("epoll");
  }
  bool accepted_all = true;
  for (;;) {
    const int count = epoll_wait(loop.poller, events, kEventsPerWait, accepted_all ? -1 : kContenderRetryMs);
    raw_tls_turn();
    for (int i = 0; i < count; ++i) {
      if (events[i].data.ptr == NULL) {
        accepted_all = accept_all(listener, open_stream, (void*)&loop);
      } else {
        serve_stream(&loop, events[i].data.ptr);
      }
    }
    if (!accepted_all) accepted_all = accept_all(listener, open_stream, (void*)&loop);
  }
}

int raw_tls_serve(const struct contender_options* options) {
  tls_context = contender_tls_context();
  SSL_CTX_set_default_read_buffer_len(tls_context, kReadBytes);
  return serve_on_each_thread(options, serve_thread);
}
