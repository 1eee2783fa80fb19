// SPDX-License-Identifier: BSD-3-Clause
// The drum on libev: one ev_io per fd, and with idle timers one ev_timer per fd. Each byte moves the timer with
// ev_timer_again(), as libev's manual shows. The timer repeats, so it needs no restart when it expires.
#include <ev.h>
#include <stdio.h>

#include "drum_main.h"

struct drummer {
  ev_io io;
  ev_timer idle;
  int i;
};

static struct ev_loop* loop;
static struct drummer* drummers;

const char* library_name(void) {
  static char name[32];
  snprintf(name, sizeof name, "libev %d.%d", ev_version_major(), ev_version_minor());
  return name;
}

const char* idle_manner(void) { return "rearm"; }

static void on_idle(struct ev_loop* its_loop, ev_timer* timer, int what) {
  (void)its_loop;
  (void)what;
  drum_idle(((struct drummer*)timer->data)->i);
}

static void on_byte(struct ev_loop* its_loop, ev_io* io, int what) {
  (void)what;
  struct drummer* drummer = io->data;
  if (drum.timeouts) ev_timer_again(its_loop, &drummer->idle);
  if (drum_byte(drummer->i)) ev_break(its_loop, EVBREAK_ALL);
}

void register_all(int again) {
  if (loop == NULL) {
    loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);
    if (loop == NULL) fail("ev_loop_new");
    drummers = allocate((size_t)drum.pairs, sizeof *drummers);
  }
  for (int i = 0; i < drum.pairs; ++i) {
    struct drummer* drummer = &drummers[i];
    if (again) {
      ev_io_stop(loop, &drummer->io);
      if (drum.timeouts) ev_timer_stop(loop, &drummer->idle);
    }
    drummer->i = i;
    ev_io_init(&drummer->io, on_byte, drum.receiving[i], EV_READ);
    drummer->io.data = drummer;
    ev_io_start(loop, &drummer->io);
    if (!drum.timeouts) continue;
    ev_timer_init(&drummer->idle, on_idle, 0., drum_idle_ms(i) / 1000.);
    drummer->idle.data = drummer;
    ev_timer_again(loop, &drummer->idle);
  }
  // libev tells the kernel about changes only while its loop runs. So the loop runs once, without waiting.
  ev_run(loop, EVRUN_NOWAIT);
}

void pass_around(void) { ev_run(loop, 0); }
