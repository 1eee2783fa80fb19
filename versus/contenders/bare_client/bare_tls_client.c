// SPDX-License-Identifier: BSD-3-Clause
// A client for exact counts over TLS. It repeats --messages times: send a burst on each of --connections connections,
// then receive and check every answer. A burst is --burst messages of --size bytes, one record each, in one send().
// With --http 1 a message is a GET with four header fields.
//
// With --idle 1 it prints "ready N" afterwards and holds its connections until its standard input ends. Otherwise it
// closes each connection properly and prints the counts.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "bare_tls.h"

enum { kMostAnswerBytes = 64 * 1024 };

static const char kRequest[] =
    "GET / HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n"
    "Accept-Encoding: gzip, deflate\r\n\r\n";

struct job {
  double connections, size, burst, messages, http, idle, server_pid;
  const char* message;  // the message that is sent; it has `size` bytes
  char* answers;        // room for the answers to one burst
};

static void await_echoes(const struct job* job, struct bare_tls* stream) {
  const size_t size = (size_t)job->size;
  bare_tls_receive(stream, job->answers, size * (size_t)job->burst);
  for (int i = 0; i < (int)job->burst; ++i) {
    if (memcmp(job->answers + (size_t)i * size, job->message, size) != 0) {
      errno = EBADMSG;
      fail("the echo differs from the message");
    }
  }
}

// Returns the length of the first HTTP answer in `bytes`. Returns 0 if this answer is not complete yet. Ends the
// process if the status is not 200 or there is no Content-Length.
static size_t answer_end(const char* bytes, size_t size) {
  const char* head_end = memmem(bytes, size, "\r\n\r\n", 4);
  if (head_end == NULL) return 0;
  errno = EBADMSG;
  if (size < 12 || memcmp(bytes + 8, " 200", 4) != 0) fail("the answer's status is not 200");
  for (const char* line = bytes; line < head_end; line = (const char*)memchr(line, '\n', size) + 1) {
    if (strncasecmp(line, "content-length:", 15) == 0) {
      const size_t end = (size_t)(head_end - bytes) + 4 + strtoul(line + 15, NULL, 10);
      return end <= size ? end : 0;
    }
  }
  fail("the answer has no Content-Length");
}

static void await_answers(const struct job* job, struct bare_tls* stream) {
  size_t held = 0;
  for (int left = (int)job->burst; left > 0;) {
    held += bare_tls_receive_some(stream, job->answers + held, kMostAnswerBytes - held);
    for (size_t end; left > 0 && (end = answer_end(job->answers, held)) > 0; --left) {
      held -= end;
      memmove(job->answers, job->answers + end, held);
    }
  }
}

static void exchange(const struct job* job, struct bare_tls* streams) {
  for (int i = 0; i < (int)job->connections; ++i) {
    bare_tls_send(&streams[i], job->message, (size_t)job->size, (int)job->burst);
  }
  for (int i = 0; i < (int)job->connections; ++i) {
    if (job->http > 0) {
      await_answers(job, &streams[i]);
    } else {
      await_echoes(job, &streams[i]);
    }
  }
}

int main(int argc, char** argv) {
  struct job job = {.connections = 1, .size = 64, .burst = 1, .messages = 1000};
  const struct bare_option options[] = {
      {"--connections", &job.connections}, {"--size", &job.size}, {"--burst", &job.burst},
      {"--messages", &job.messages},       {"--http", &job.http}, {"--idle", &job.idle},
      {"--server-pid", &job.server_pid}};
  const struct sockaddr_in target = parse_command_line(argc, argv, options, sizeof options / sizeof *options);
  if (job.http > 0) job.size = sizeof kRequest - 1;
  char* pattern = malloc((size_t)job.size + 1);
  job.answers = malloc(kMostAnswerBytes + (size_t)job.size * (size_t)job.burst);
  struct bare_tls* streams = calloc((size_t)job.connections + 1, sizeof *streams);
  errno = EINVAL;
  if (pattern == NULL || job.answers == NULL || streams == NULL || job.size < 1 || job.burst < 1) {
    fail("--size and --burst must be at least 1");
  }
  fill_pattern(pattern, (size_t)job.size);
  job.message = job.http > 0 ? kRequest : pattern;
  SSL_CTX* context = bare_tls_context();
  for (int i = 0; i < (int)job.connections; ++i) {
    streams[i] = bare_tls_open(context, &target, i, NULL);
  }
  exchange(&job, streams);  // warms up both sides
  const uint64_t start = now_ns(), own_cpu = cpu_ns(0);
  const uint64_t server_cpu = job.server_pid > 0 ? cpu_ns((int)job.server_pid) : 0;
  for (int i = 0; i < (int)job.messages; ++i) exchange(&job, streams);
  const double server_spent = job.server_pid > 0 ? (double)(cpu_ns((int)job.server_pid) - server_cpu) : 0;
  const double own_spent = (double)(cpu_ns(0) - own_cpu), seconds = (double)(now_ns() - start) * 1e-9;
  if (job.idle > 0) {
    hold_until_input_ends((int)job.connections);
    return 0;
  }
  for (int i = 0; i < (int)job.connections; ++i) bare_tls_close(&streams[i]);
  const double messages = job.messages * job.burst * job.connections, divisor = messages > 0 ? messages : 1;
  printf("{\"messages\": %.0f, \"seconds\": %.6f, ", messages, seconds);
  if (job.server_pid > 0) printf("\"server_cpu_ns_per_message\": %.1f, ", server_spent / divisor);
  printf("\"client_cpu_ns_per_message\": %.1f}\n", own_spent / divisor);
  return 0;
}
