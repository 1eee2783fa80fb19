// SPDX-License-Identifier: BSD-3-Clause
// The drum on libevent: one persistent event per fd. The program stores the structs itself, which libevent's
// documentation advises for speed. An EV_PERSIST event with a timeout is libevent's idle timeout: the library moves the
// timer whenever the event happens. Locks are off, because there is one thread. With CHANGELIST, libevent omits two
// changes of one fd that cancel each other. It is off by default because of duplicated fds.
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "drum_main.h"

static struct event_base* base;
static struct event* watchers;

const char* library_name(void) {
  static char name[64];
  snprintf(name, sizeof name, "libevent %s%s", event_get_version(), CHANGELIST ? ", changelist" : "");
  return name;
}

const char* idle_manner(void) { return "rearm"; }

static void on_event(evutil_socket_t fd, short what, void* number) {
  (void)fd;
  const int i = (int)(intptr_t)number;
  if (what & EV_TIMEOUT) drum_idle(i);
  if ((what & EV_READ) && drum_byte(i)) event_base_loopbreak(base);
}

static void make_base(void) {
  struct event_config* config = event_config_new();
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  if (CHANGELIST) event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  event_config_require_features(config, EV_FEATURE_O1);
  base = event_base_new_with_config(config);
  event_config_free(config);
  if (base == NULL) fail("event_base_new_with_config");
  watchers = allocate((size_t)drum.pairs, sizeof *watchers);
}

void register_all(int again) {
  if (base == NULL) make_base();
  for (int i = 0; i < drum.pairs; ++i) {
    const int idle_ms = drum_idle_ms(i);
    const struct timeval idle = {.tv_sec = idle_ms / 1000, .tv_usec = idle_ms % 1000 * 1000};
    if (again) event_del(&watchers[i]);
    event_assign(&watchers[i], base, drum.receiving[i], EV_READ | EV_PERSIST, on_event, (void*)(intptr_t)i);
    if (event_add(&watchers[i], drum.timeouts ? &idle : NULL) != 0) fail("event_add");
  }
  event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

void pass_around(void) {
  if (event_base_dispatch(base) != 0) fail("event_base_dispatch");
}
