// SPDX-License-Identifier: BSD-3-Clause
// What the contenders on libevent share: a base as their users tune it, and what is done when the fds run out.
#pragma once
#include <sys/time.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "contender.h"

// Without locks, as each thread has a base of its own.
static inline struct event_base* new_base(void) {
  struct event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  struct event_base* base = event_base_new_with_config(config);
  if (base == NULL) fail("event_base_new_with_config");
  return base;
}

static inline void on_retry(evutil_socket_t fd, short what, void* listener) {
  (void)fd, (void)what;
  evconnlistener_enable(listener);
}

// Out of fds: without a pause the listener would spin.
static inline void on_accept_error(struct evconnlistener* listener, void* context) {
  (void)context;
  const struct timeval pause = {.tv_usec = kContenderRetryMs * 1000};
  evconnlistener_disable(listener);
  event_base_once(evconnlistener_get_base(listener), -1, EV_TIMEOUT, on_retry, listener, &pause);
}
