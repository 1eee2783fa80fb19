// SPDX-License-Identifier: BSD-3-Clause
// Measures connection churn: connects, sends one message, reads the answer, and closes with RST so that no port stays
// in TIME_WAIT. The source addresses rotate from 127.0.0.1 to 127.0.0.16. One thread serves --concurrent slots. The
// program ends after --total connections or --duration seconds. With --rate, it starts that many connections per
// second, evenly spaced. If no slot is free when a connection is due, the connection starts late.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare_tools.h"

enum { kEventsPerWait = 256 };

struct slot {
  int fd;
  bool sent;
  size_t unread;
  struct slot* next_free;
};

struct churn {
  struct sockaddr_in target;
  struct slot* free_slots;
  int poller;
  size_t size;
  char* bytes;
  uint64_t started;
  uint64_t finished;
  uint64_t failures;
};

static void finish(struct churn* churn, struct slot* slot, bool failed) {
  const struct linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(slot->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(slot->fd);
  slot->next_free = churn->free_slots;
  churn->free_slots = slot;
  if (failed) {
    ++churn->failures;
  } else {
    ++churn->finished;
  }
}

static void start(struct churn* churn) {
  struct slot* slot = churn->free_slots;
  const int fd = open_stream(&churn->target, (int)(churn->started++ % kSourceAddresses), SOCK_NONBLOCK);
  if (fd < 0) {
    ++churn->failures;
    return;
  }
  churn->free_slots = slot->next_free;
  *slot = (struct slot){.fd = fd, .unread = churn->size};
  struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = slot};
  if (epoll_ctl(churn->poller, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
}

static void advance(struct churn* churn, struct slot* slot, uint32_t events) {
  if (!slot->sent) {
    if ((events & EPOLLOUT) == 0) return;
    // The whole message must fit into the empty send buffer of a new connection. Otherwise the connection counts as
    // failed.
    if (send(slot->fd, churn->bytes, churn->size, MSG_NOSIGNAL) != (ssize_t)churn->size) {
      finish(churn, slot, true);
      return;
    }
    slot->sent = true;
  }
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP)) == 0) return;
  for (;;) {
    const ssize_t got = recv(slot->fd, churn->bytes + churn->size, kReadBytes, 0);
    if (got > 0 && (slot->unread -= (size_t)got) > 0) continue;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    finish(churn, slot, got <= 0);
    return;
  }
}

// Returns how long epoll may wait, in nanoseconds. The wait ends when the next connection is due or when the
// measurement ends, whichever comes first.
static int64_t next_wait_ns(const struct churn* churn, uint64_t elapsed, double rate, double duration, bool more) {
  double until = duration * 1e9;
  if (more && churn->free_slots != NULL && rate > 0) {
    const double next = (double)churn->started / rate * 1e9;
    if (next < until) until = next;
  }
  return until > (double)elapsed ? (int64_t)(until - (double)elapsed) : 0;
}

static uint64_t run(struct churn* churn, double total, double duration, double rate, unsigned concurrent) {
  struct epoll_event events[kEventsPerWait];
  const uint64_t begin = now_ns();
  for (;;) {
    const uint64_t elapsed = now_ns() - begin;
    const bool in_time = (double)elapsed < duration * 1e9;
    double due = rate > 0 ? (double)elapsed * 1e-9 * rate + 1 : (double)churn->started + concurrent;
    if (due > total) due = total;
    while (in_time && churn->free_slots != NULL && (double)churn->started + 1 <= due) start(churn);
    if (!in_time || (double)(churn->finished + churn->failures) >= total) return elapsed;
    const int64_t wait_ns = next_wait_ns(churn, elapsed, rate, duration, (double)churn->started + 1 <= total);
    const struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    const int count = epoll_pwait2(churn->poller, events, kEventsPerWait, &wait, NULL);
    for (int i = 0; i < count; ++i) advance(churn, events[i].data.ptr, events[i].events);
  }
}

int main(int argc, char** argv) {
  double concurrent = 16, total = 0, duration = 0, rate = 0, size = 64, server_pid = 0;
  const struct bare_option options[] = {{"--concurrent", &concurrent},
                                        {"--total", &total},
                                        {"--duration", &duration},
                                        {"--rate", &rate},
                                        {"--size", &size},
                                        {"--server-pid", &server_pid}};
  struct churn churn = {.target = parse_command_line(argc, argv, options, sizeof options / sizeof *options)};
  if (total == 0 && duration == 0) duration = 1;
  if (total == 0) total = 1e18;
  if (duration == 0) duration = 1e9;
  const unsigned slots = (unsigned)concurrent;
  churn.size = (size_t)size;
  churn.bytes = malloc(churn.size + kReadBytes);
  churn.poller = epoll_create1(EPOLL_CLOEXEC);
  struct slot* memory = calloc(slots, sizeof *memory);
  errno = EINVAL;
  if (churn.bytes == NULL || memory == NULL || slots == 0 || churn.size == 0) {
    fail("--concurrent and --size must be at least 1");
  }
  fill_pattern(churn.bytes, churn.size);
  for (unsigned i = 0; i < slots; ++i) {
    memory[i].next_free = churn.free_slots;
    churn.free_slots = &memory[i];
  }

  const uint64_t own_cpu = cpu_ns(0), server_cpu = server_pid > 0 ? cpu_ns((int)server_pid) : 0;
  const double seconds = (double)run(&churn, total, duration, rate, slots) * 1e-9;
  const double server_spent = server_pid > 0 ? (double)(cpu_ns((int)server_pid) - server_cpu) : 0;
  const double own_spent = (double)(cpu_ns(0) - own_cpu);
  const double divisor = churn.finished > 0 ? (double)churn.finished : 1;
  printf("{\"connections\": %llu, \"failures\": %llu, \"seconds\": %.6f, \"connections_per_s\": %.1f, ",
         (unsigned long long)churn.finished, (unsigned long long)churn.failures, seconds,
         (double)churn.finished / seconds);
  if (server_pid > 0) printf("\"server_cpu_ns_per_connection\": %.1f, ", server_spent / divisor);
  printf("\"client_cpu_ns_per_connection\": %.1f}\n", own_spent / divisor);
  return churn.failures == 0 ? 0 : 1;
}
