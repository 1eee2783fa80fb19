// SPDX-License-Identifier: BSD-3-Clause
// An echo server on libevent: one bufferevent per connection, whose input is moved, not copied, to its output. Tuned:
// no locks, one base per thread, single reads and writes of 64 KiB instead of 16 KiB. (Even so, evbuffer_read() of
// libevent 2.1 takes at most 4096 bytes per call, and no option changes that.)
//
// With WRITE_FIRST the input is written to the socket immediately, and only the rest becomes output. A user who has
// profiled the program would do so. With OVER_TLS the bufferevent is OpenSSL's, and read-ahead is off. libevent only
// asks SSL_pending() whether there is more input, and SSL_pending() does not count records that are read but not yet
// decrypted.
#include <event2/buffer.h>
#include <event2/bufferevent.h>

#include "contender_libevent.h"

#if OVER_TLS
#include <event2/bufferevent_ssl.h>

#include "contender_tls.h"

struct contender_word contender_words[] = {
    {"--tls-cert", "FILE", NULL, 0}, {"--tls-key", "FILE", NULL, 0}, {.name = NULL}};

static SSL_CTX* tls_context;
#endif

enum { kSingleTransferBytes = 64 * 1024, kHighWaterBytes = 256 * 1024 };

static void on_read(struct bufferevent* stream, void* context);
static void on_event(struct bufferevent* stream, short what, void* context);

static void on_drained_resume(struct bufferevent* stream, void* context) {
  (void)context;
  bufferevent_setcb(stream, on_read, NULL, on_event, NULL);
  bufferevent_enable(stream, EV_READ);
  on_read(stream, NULL);
}

static void close_stream(struct bufferevent* stream) {
#if OVER_TLS
  SSL_shutdown(bufferevent_openssl_get_ssl(stream));
#endif
  bufferevent_free(stream);
}

static void on_drained_close(struct bufferevent* stream, void* context) {
  (void)context;
  close_stream(stream);
}

static void on_read(struct bufferevent* stream, void* context) {
  (void)context;
  struct evbuffer* input = bufferevent_get_input(stream);
  struct evbuffer* output = bufferevent_get_output(stream);
  if (WRITE_FIRST && evbuffer_get_length(output) == 0) {
    // An error of this write needs no handling. The bufferevent then writes the same bytes itself, fails too, and calls
    // on_event().
    evbuffer_write(input, bufferevent_getfd(stream));
    if (evbuffer_get_length(input) == 0) return;
  }
  bufferevent_write_buffer(stream, input);
  if (evbuffer_get_length(output) > kHighWaterBytes) {
    bufferevent_disable(stream, EV_READ);
    bufferevent_setcb(stream, on_read, on_drained_resume, on_event, NULL);
  }
}

static void on_event(struct bufferevent* stream, short what, void* context) {
  (void)context;
  if (what & BEV_EVENT_CONNECTED) return;  // the TLS handshake is done
  if ((what & BEV_EVENT_EOF) && evbuffer_get_length(bufferevent_get_output(stream)) > 0) {
    // The client sends no more, but it still reads. So the stream is closed only when all queued output is sent.
    bufferevent_disable(stream, EV_READ);
    bufferevent_setcb(stream, NULL, on_drained_close, on_event, NULL);
  } else {
    close_stream(stream);
  }
}

static struct bufferevent* new_stream(struct event_base* base, evutil_socket_t fd) {
#if OVER_TLS
  return bufferevent_openssl_socket_new(base, fd, SSL_new(tls_context), BUFFEREVENT_SSL_ACCEPTING,
                                        BEV_OPT_CLOSE_ON_FREE);
#else
  return bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
#endif
}

static void on_accept(struct evconnlistener* listener, evutil_socket_t fd, struct sockaddr* address, int size,
                      void* context) {
  (void)listener;
  (void)address;
  (void)size;
  struct bufferevent* stream = new_stream(context, fd);
  if (stream == NULL) {
    evutil_closesocket(fd);
    return;
  }
  bufferevent_set_max_single_read(stream, kSingleTransferBytes);
  bufferevent_set_max_single_write(stream, kSingleTransferBytes);
  bufferevent_setcb(stream, on_read, NULL, on_event, NULL);
  bufferevent_enable(stream, EV_READ | EV_WRITE);
}

static void serve_thread(int listener_fd) {
  struct event_base* base = new_base();
  struct evconnlistener* listener = evconnlistener_new(base, on_accept, base, LEV_OPT_CLOSE_ON_EXEC, 0, listener_fd);
  if (listener == NULL) fail("evconnlistener_new");
  evconnlistener_set_error_cb(listener, on_accept_error);
  event_base_dispatch(base);
  fail("event_base_dispatch");
}

int serve(const struct contender_options* options) {
#if OVER_TLS
  tls_context = contender_tls_context();
  SSL_CTX_set_read_ahead(tls_context, 0);
#endif
  return serve_on_each_thread(options, serve_thread);
}
