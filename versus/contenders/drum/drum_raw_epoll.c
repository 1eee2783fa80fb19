// SPDX-License-Identifier: BSD-3-Clause
// The floor of the drum, that is the least it can cost: a bare epoll loop. The idle timeout is written by hand: each
// byte stores a new deadline, and a sweep over all deadlines runs at most once a second.
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>

#include "drum_main.h"

enum { kEventsPerWait = 1024, kSweepMs = 1000 };

static int epoll = -1;
static int64_t* deadlines_ms;
static int64_t next_sweep_ms;

const char* library_name(void) { return "raw epoll"; }
const char* idle_manner(void) { return "touch"; }

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void register_all(int again) {
  if (epoll < 0) {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) fail("epoll_create1");
    if (drum.timeouts) deadlines_ms = allocate((size_t)drum.pairs, sizeof *deadlines_ms);
  }
  const int64_t now = drum.timeouts ? now_ms() : 0;
  next_sweep_ms = now + kSweepMs;
  for (int i = 0; i < drum.pairs; ++i) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = (uint32_t)i}};
    if (again && epoll_ctl(epoll, EPOLL_CTL_DEL, drum.receiving[i], NULL) != 0) fail("EPOLL_CTL_DEL");
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, drum.receiving[i], &event) != 0) fail("EPOLL_CTL_ADD");
    if (drum.timeouts) deadlines_ms[i] = now + drum_idle_ms(i);
  }
}

static void sweep(int64_t now) {
  if (now < next_sweep_ms) return;
  next_sweep_ms = now + kSweepMs;
  for (int i = 0; i < drum.pairs; ++i) {
    if (now < deadlines_ms[i]) continue;
    deadlines_ms[i] = now + drum_idle_ms(i);
    drum_idle(i);
  }
}

void pass_around(void) {
  static struct epoll_event ready[kEventsPerWait];
  int done = 0;
  while (!done) {
    const int count = epoll_wait(epoll, ready, kEventsPerWait, drum.timeouts ? kSweepMs : -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    const int64_t now = drum.timeouts ? now_ms() : 0;
    for (int e = 0; e < count; ++e) {
      const int i = (int)ready[e].data.u32;
      if (drum.timeouts) deadlines_ms[i] = now + drum_idle_ms(i);
      done |= drum_byte(i);
    }
    if (drum.timeouts) sweep(now);
  }
}
