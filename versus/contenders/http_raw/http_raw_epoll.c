// SPDX-License-Identifier: BSD-3-Clause
// The floor of HTTP: raw_request.h between a read and a write, nothing else. Edge-triggered, each socket registered
// once, one warm buffer for input and one for output per thread; the answers of all requests that one read brought
// leave in one write. Memory of a connection's own exists only while half a request or an unsent answer waits. While an
// answer waits, reading rests. One loop per thread.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "contender.h"
#include "contender_http.h"
#include "raw_request.h"

enum {
  kReadBytes = 64 * 1024,
  kInputBytes = kReadBytes + kHttpMaxHeaderBytes,
  kOutputBytes = 64 * 1024,
  kEventsPerWait = 512,
  kReadsPerTurn = 16,
};

static const uint32_t kReading = EPOLLIN | EPOLLRDHUP | EPOLLET;
static const uint32_t kWriting = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
// With one of these a short read is no proof that the socket is empty: the end or an error stands behind it.
static const uint32_t kMoreToRead = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;

// What a connection keeps between turns: unanswered input, then unsent answers.
struct kept {
  size_t in_size;
  size_t out_size;
  size_t sent;
  bool ends;
  char bytes[];
};

struct loop {
  int poller;
  char* in;
  char* out;
};

// By fd; NULL while nothing waits. A slot is touched only by the thread whose loop holds the fd.
static struct kept** kept_of;

static void close_stream(int fd) {
  free(kept_of[fd]);
  kept_of[fd] = NULL;
  close(fd);
}

// Registering anew also reports again whatever is ready by now.
static void rearm(const struct loop* loop, int fd, uint32_t interest) {
  struct epoll_event event = {.events = interest, .data.fd = fd};
  if (epoll_ctl(loop->poller, EPOLL_CTL_MOD, fd, &event) != 0) close_stream(fd);
}

// False when memory ran out: the stream is closed.
static bool keep(int fd, const char* in, size_t in_size, const char* out, size_t out_size, bool ends) {
  struct kept* kept = malloc(sizeof *kept + in_size + out_size);
  if (kept == NULL) {
    close_stream(fd);
    return false;
  }
  *kept = (struct kept){.in_size = in_size, .out_size = out_size, .ends = ends};
  memcpy(kept->bytes, in, in_size);
  if (out_size > 0) memcpy(kept->bytes + in_size, out, out_size);
  kept_of[fd] = kept;
  return true;
}

// Answers what is in loop->in. False when the stream is closed or waits to write; otherwise more may be read.
static bool answer_input(const struct loop* loop, int fd, size_t size) {
  size_t at = 0;
  for (;;) {
    const struct raw_outcome outcome = raw_answer(loop->in + at, size - at, loop->out, kOutputBytes);
    if (outcome.written == 0) break;
    at += outcome.taken;
    const ssize_t written = write(fd, loop->out, outcome.written);
    if (written < 0 && errno != EAGAIN && errno != EINTR) {
      close_stream(fd);
      return false;
    }
    const size_t done = written < 0 ? 0 : (size_t)written;
    if (done < outcome.written) {
      if (keep(fd, loop->in + at, size - at, loop->out + done, outcome.written - done, outcome.ends)) {
        rearm(loop, fd, kWriting);
      }
      return false;
    }
    if (outcome.ends) {
      close_stream(fd);
      return false;
    }
  }
  return at == size || keep(fd, loop->in + at, size - at, NULL, 0, false);
}

// Moves the kept input to the front of loop->in and returns its size.
static size_t take_kept(const struct loop* loop, int fd) {
  struct kept* kept = kept_of[fd];
  if (kept == NULL) return 0;
  const size_t size = kept->in_size;
  memcpy(loop->in, kept->bytes, size);
  kept_of[fd] = NULL;
  free(kept);
  return size;
}

// True when nothing is left to send and the stream lives.
static bool write_kept(const struct loop* loop, int fd) {
  struct kept* kept = kept_of[fd];
  const char* out = kept->bytes + kept->in_size;
  const ssize_t written = write(fd, out + kept->sent, kept->out_size - kept->sent);
  if (written < 0) {
    if (errno != EAGAIN && errno != EINTR) close_stream(fd);
    return false;
  }
  kept->sent += (size_t)written;
  if (kept->sent < kept->out_size) {
    rearm(loop, fd, kWriting);
    return false;
  }
  if (kept->ends) {
    close_stream(fd);
    return false;
  }
  kept->out_size = 0;
  return answer_input(loop, fd, take_kept(loop, fd));
}

static void serve_stream(const struct loop* loop, int fd, uint32_t events) {
  if (kept_of[fd] != NULL && kept_of[fd]->out_size > 0) {
    if (write_kept(loop, fd)) rearm(loop, fd, kReading);
    return;
  }
  for (int turn = 0; turn < kReadsPerTurn; ++turn) {
    const size_t held = take_kept(loop, fd);
    const ssize_t got = read(fd, loop->in + held, kReadBytes);
    if (got <= 0) {
      const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
      if (!later) {
        close_stream(fd);
      } else if (held > 0) {
        keep(fd, loop->in, held, NULL, 0, false);
      }
      return;
    }
    if (!answer_input(loop, fd, held + (size_t)got)) return;
    if (got < kReadBytes && (events & kMoreToRead) == 0) return;
  }
  rearm(loop, fd, kReading);
}

static void start_stream(void* loop, int fd) {
  struct epoll_event event = {.events = kReading, .data.fd = fd};
  if (epoll_ctl(((const struct loop*)loop)->poller, EPOLL_CTL_ADD, fd, &event) != 0) close(fd);
}

static void serve_thread(int listener) {
  struct epoll_event events[kEventsPerWait];
  const struct loop loop = {
      .poller = epoll_create1(EPOLL_CLOEXEC), .in = malloc(kInputBytes), .out = malloc(kOutputBytes)};
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = listener};
  if (loop.poller < 0 || loop.in == NULL || loop.out == NULL ||
      epoll_ctl(loop.poller, EPOLL_CTL_ADD, listener, &event) != 0) {
    fail("epoll");
  }
  bool accepted_all = true;
  for (;;) {
    const int count = epoll_wait(loop.poller, events, kEventsPerWait, accepted_all ? -1 : kContenderRetryMs);
    raw_answers_refresh();
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == listener) {
        accepted_all = accept_all(listener, start_stream, (void*)&loop);
      } else {
        serve_stream(&loop, events[i].data.fd, events[i].events);
      }
    }
    if (!accepted_all) accepted_all = accept_all(listener, start_stream, (void*)&loop);
  }
}

int serve(const struct contender_options* options) {
  kept_of = allocate(raise_fd_limit(), sizeof *kept_of);
  return serve_on_each_thread(options, serve_thread);
}
