// SPDX-License-Identifier: BSD-3-Clause
// The part that all contenders on libevent share: a tuned event base, and a pause when no fd is free.
#pragma once
#include <sys/time.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "contender.h"

// Makes an event base without locks. Each thread has its own base, so no locks are needed.
static inline struct event_base* new_base(void) {
  struct event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  struct event_base* base = event_base_new_with_config(config);
  if (base == NULL) fail("event_base_new_with_config");
  return base;
}

static inline void on_retry(evutil_socket_t fd, short what, void* listener) {
  (void)fd;
  (void)what;
  evconnlistener_enable(listener);
}

// Called when accept() fails because no fd is free. Disables the listener for kContenderRetryMs. Without this pause,
// the loop would only repeat the failing call.
static inline void on_accept_error(struct evconnlistener* listener, void* context) {
  (void)context;
  const struct timeval pause = {.tv_usec = kContenderRetryMs * 1000};
  evconnlistener_disable(listener);
  event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, on_retry, listener, &pause);
}
