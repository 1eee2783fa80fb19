// SPDX-License-Identifier: BSD-3-Clause
// The cheapest possible load generator: shows what the client side of a ping-pong costs if it measures only totals. One
// thread, edge-triggered epoll. The clock starts when all connections are open and warm.
//
// - Closed loop (without --rate): `size` bytes circulate on every connection; each read is sent back unchanged.
// - With --rate: that many laps of `size` bytes start per second, counted over all connections. A lap starts on the
//   connection that has been idle longest. If no connection is idle, the lap starts late. Pacing never spins.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bare_tools.h"

enum { kEventsPerWait = 512 };

struct stream {
  int fd;
  uint32_t position;  // position in the pattern of the next byte to send
  uint32_t unsent;
  uint32_t unread;  // bytes of the current lap that are not received yet; used only with a rate
};

struct client {
  struct stream* streams;
  struct stream** idle;  // a ring buffer of the streams without a current lap; used only with a rate
  uint32_t idle_first;
  uint32_t idle_count;
  uint32_t connections;
  uint32_t size;
  double rate;
  char* pattern;  // two copies of the pattern, so that the unsent bytes are contiguous from any position
  uint64_t bytes;
  uint64_t errors;
  uint64_t laps_started;
  uint64_t first_lap_ns;
  int poller;
};

static volatile sig_atomic_t phases_ended;

static void end_phase(int signal) {
  (void)signal;
  ++phases_ended;
}

static void start_phase(double seconds) {
  const struct itimerval once = {
      .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) + 1}};
  setitimer(ITIMER_REAL, &once, NULL);
}

static void drop(struct client* client, struct stream* stream) {
  ++client->errors;
  close(stream->fd);
  stream->fd = -1;
}

// Sends the stream's unsent bytes. They are taken from the pattern, because the received bytes are not stored. The
// pattern holds the same bytes: the data on the connection repeats every `size` bytes.
static void send_unsent(struct client* client, struct stream* stream) {
  const ssize_t sent = send(stream->fd, client->pattern + stream->position, stream->unsent, MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR) drop(client, stream);
    return;
  }
  stream->unsent -= (uint32_t)sent;
  stream->position += (uint32_t)sent;
  if (stream->position >= client->size) stream->position -= client->size;
}

static void put_idle(struct client* client, struct stream* stream) {
  client->idle[(client->idle_first + client->idle_count++) % client->connections] = stream;
}

static void serve_stream(struct client* client, struct stream* stream, char* buffer) {
  for (;;) {
    const ssize_t got = recv(stream->fd, buffer, kReadBytes, 0);
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        drop(client, stream);
        return;
      }
      break;
    }
    client->bytes += (uint64_t)got;
    if (client->rate == 0) {
      stream->unsent += (uint32_t)got;
    } else if ((stream->unread -= (uint32_t)got) == 0) {
      put_idle(client, stream);
    }
    if (got < kReadBytes) break;
  }
  if (stream->unsent > 0) send_unsent(client, stream);
}

// Starts the laps (round trips) that are due, while streams are idle. Returns the nanoseconds until the next lap is
// due. Returns -1 if no stream is idle; then the caller waits for an event without a timeout.
static int64_t start_due_laps(struct client* client) {
  const double elapsed = (double)(now_ns() - client->first_lap_ns) * 1e-9;
  const uint64_t due = (uint64_t)(elapsed * client->rate) + 1;
  while (client->laps_started < due && client->idle_count > 0) {
    struct stream* stream = client->idle[client->idle_first];
    client->idle_first = (client->idle_first + 1) % client->connections;
    --client->idle_count;
    ++client->laps_started;
    stream->unread = stream->unsent = client->size;
    send_unsent(client, stream);
  }
  if (client->idle_count == 0) return -1;
  const double wait = ((double)client->laps_started / client->rate - elapsed) * 1e9;
  return wait > 0 ? (int64_t)wait : 0;
}

static void run_phase(struct client* client, char* buffer) {
  struct epoll_event events[kEventsPerWait];
  const int ended = phases_ended;
  while (phases_ended == ended) {
    struct timespec wait = {.tv_sec = 0};
    int64_t wait_ns = -1;
    if (client->rate > 0) wait_ns = start_due_laps(client);
    if (wait_ns > 0) wait = (struct timespec){.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    const int count = client->rate > 0
                          ? epoll_pwait2(client->poller, events, kEventsPerWait, wait_ns < 0 ? NULL : &wait, NULL)
                          : epoll_wait(client->poller, events, kEventsPerWait, -1);
    for (int i = 0; i < count; ++i) serve_stream(client, events[i].data.ptr, buffer);
  }
}

static void connect_all(struct client* client, const struct sockaddr_in* target) {
  for (uint32_t i = 0; i < client->connections; ++i) {
    struct stream* stream = &client->streams[i];
    stream->fd = open_stream(target, (int)i, 0);
    if (stream->fd < 0) fail("connect");
    fcntl(stream->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = stream};
    if (epoll_ctl(client->poller, EPOLL_CTL_ADD, stream->fd, &event) != 0) fail("epoll_ctl");
    if (client->rate > 0) {
      put_idle(client, stream);
    } else {
      stream->unsent = client->size;
      send_unsent(client, stream);
    }
  }
  client->first_lap_ns = now_ns();
}

int main(int argc, char** argv) {
  double connections = 1, size = 64, duration = 1, rate = 0, warm_up = 0.2, server_pid = 0;
  const struct bare_option options[] = {{"--connections", &connections}, {"--size", &size},
                                        {"--duration", &duration},       {"--rate", &rate},
                                        {"--warm-up", &warm_up},         {"--server-pid", &server_pid}};
  const struct sockaddr_in target = parse_command_line(argc, argv, options, sizeof options / sizeof *options);
  struct client client = {.connections = (uint32_t)connections, .size = (uint32_t)size, .rate = rate};
  client.streams = allocate(client.connections, sizeof *client.streams);
  client.idle = allocate(client.connections, sizeof(struct stream*));
  client.pattern = allocate(client.size, 2);
  client.poller = epoll_create1(EPOLL_CLOEXEC);
  char* buffer = allocate(1, kReadBytes);
  errno = EINVAL;
  if (client.connections == 0 || client.size == 0) fail("--connections and --size must be at least 1");
  fill_pattern(client.pattern, client.size);
  fill_pattern(client.pattern + client.size, client.size);
  const struct sigaction on_alarm = {.sa_handler = end_phase};
  sigaction(SIGALRM, &on_alarm, NULL);
  connect_all(&client, &target);
  start_phase(warm_up);
  run_phase(&client, buffer);

  const uint64_t bytes = client.bytes, start = now_ns(), own_cpu = cpu_ns(0);
  const uint64_t server_cpu = server_pid > 0 ? cpu_ns((int)server_pid) : 0;
  start_phase(duration);
  run_phase(&client, buffer);
  const double server_spent = server_pid > 0 ? (double)(cpu_ns((int)server_pid) - server_cpu) : 0;
  const double own_spent = (double)(cpu_ns(0) - own_cpu), seconds = (double)(now_ns() - start) * 1e-9;
  const double messages = (double)(client.bytes - bytes) / (double)client.size;
  const double divisor = messages > 0 ? messages : 1;
  printf(
      "{\"messages\": %.0f, \"bytes\": %llu, \"seconds\": %.6f, \"round_trips_per_s\": %.1f, "
      "\"client_cpu_ns_per_message\": %.1f, ",
      messages, (unsigned long long)(client.bytes - bytes), seconds, messages / seconds, own_spent / divisor);
  if (server_pid > 0) printf("\"server_cpu_ns_per_message\": %.1f, ", server_spent / divisor);
  printf("\"connections\": %u, \"errors\": %llu}\n", client.connections, (unsigned long long)client.errors);
  return client.errors == 0 ? 0 : 1;
}
