// SPDX-License-Identifier: BSD-3-Clause
// libevent as its users write an echo: a bufferevent per connection whose input is moved, not copied, into its output.
// Tuned: no locks, one base per thread, single reads and writes of 64 KiB instead of 16. (Below those, evbuffer_read()
// of libevent 2.1 takes at most 4096 bytes a call; nothing a user can set lifts that.) With WRITE_FIRST the input goes
// straight to the socket and only what does not fit becomes output, as a user who has profiled it would do.
#include <sys/time.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#include "contender.h"

enum { kSingleTransferBytes = 64 * 1024, kHighWaterBytes = 256 * 1024 };

static void on_read(struct bufferevent* stream, void* context);
static void on_event(struct bufferevent* stream, short what, void* context);

static void on_drained_resume(struct bufferevent* stream, void* context) {
  (void)context;
  bufferevent_setcb(stream, on_read, NULL, on_event, NULL);
  bufferevent_enable(stream, EV_READ);
  on_read(stream, NULL);
}

static void on_drained_close(struct bufferevent* stream, void* context) {
  (void)context;
  bufferevent_free(stream);
}

static void on_read(struct bufferevent* stream, void* context) {
  (void)context;
  struct evbuffer* input = bufferevent_get_input(stream);
  struct evbuffer* output = bufferevent_get_output(stream);
  if (WRITE_FIRST && evbuffer_get_length(output) == 0) {
    // An error here shows again, as an event, when the bufferevent writes.
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
  if ((what & BEV_EVENT_EOF) && evbuffer_get_length(bufferevent_get_output(stream)) > 0) {
    // The client has finished sending but not reading: what is queued still goes out.
    bufferevent_disable(stream, EV_READ);
    bufferevent_setcb(stream, NULL, on_drained_close, on_event, NULL);
  } else {
    bufferevent_free(stream);
  }
}

static void on_accept(struct evconnlistener* listener, evutil_socket_t fd, struct sockaddr* address, int size,
                      void* context) {
  (void)listener, (void)address, (void)size;
  struct bufferevent* stream = bufferevent_socket_new(context, fd, BEV_OPT_CLOSE_ON_FREE);
  if (stream == NULL) {
    evutil_closesocket(fd);
    return;
  }
  bufferevent_set_max_single_read(stream, kSingleTransferBytes);
  bufferevent_set_max_single_write(stream, kSingleTransferBytes);
  bufferevent_setcb(stream, on_read, NULL, on_event, NULL);
  bufferevent_enable(stream, EV_READ | EV_WRITE);
}

static void on_retry(evutil_socket_t fd, short what, void* listener) {
  (void)fd, (void)what;
  evconnlistener_enable(listener);
}

// Out of fds: without a pause the listener would spin.
static void on_accept_error(struct evconnlistener* listener, void* context) {
  const struct timeval pause = {.tv_usec = kContenderRetryMs * 1000};
  evconnlistener_disable(listener);
  event_base_once(context, -1, EV_TIMEOUT, on_retry, listener, &pause);
}

static void serve_thread(int listener_fd) {
  struct event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  struct event_base* base = event_base_new_with_config(config);
  if (base == NULL) fail("event_base_new_with_config");
  struct evconnlistener* listener = evconnlistener_new(base, on_accept, base, LEV_OPT_CLOSE_ON_EXEC, 0, listener_fd);
  if (listener == NULL) fail("evconnlistener_new");
  evconnlistener_set_error_cb(listener, on_accept_error);
  event_base_dispatch(base);
  fail("event_base_dispatch");
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
