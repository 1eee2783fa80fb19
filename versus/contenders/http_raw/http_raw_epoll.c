// SPDX-License-Identifier: BSD-3-Clause
// The floor of HTTP, that is the least it can cost: one read, the code of raw_request.h, one write. Each thread has its
// own loop:
// - Epoll is edge-triggered, and each socket is registered once.
// - Each thread has one warm buffer for input and one for output. The answers to all requests of one read leave in one
//   write.
// - A connection has its own memory only while it holds an incomplete request or an unsent answer. While an answer
//   waits, the connection is not read.
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
// Event flags that announce an end of stream, an error or urgent data. If an event has one of these flags, the socket
// may hold more after a short read, so the program reads again. Without these flags, a short read means that the socket
// is empty.
static const uint32_t kMoreToRead = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;

// The bytes that a connection must keep until its next event: unanswered input, followed by answers. The first `sent`
// bytes of the answers are sent already.
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

// The kept bytes of each connection, indexed by the connection's fd. An entry is NULL if nothing is kept. Only the
// thread that serves the fd uses its entry.
static struct kept** kept_of;

static void close_stream(int fd) {
  free(kept_of[fd]);
  kept_of[fd] = NULL;
  close(fd);
}

// Changes the events for which epoll watches the socket. Epoll also reports again the events that are ready now,
// although it is edge-triggered. If the change fails, closes the connection.
static void rearm(const struct loop* loop, int fd, uint32_t interest) {
  struct epoll_event event = {.events = interest, .data.fd = fd};
  if (epoll_ctl(loop->poller, EPOLL_CTL_MOD, fd, &event) != 0) close_stream(fd);
}

// Stores a copy of the connection's unanswered input and unsent output. If there is no memory, closes the connection
// and returns false.
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

// Answers the requests in the first `size` bytes of loop->in. Returns true if the caller may read more. Returns false
// if the connection was closed or must wait until the socket is writable.
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

// Moves the input that was kept for this connection to the front of loop->in. Returns the size of this input, or 0 if
// none was kept.
static size_t take_kept(const struct loop* loop, int fd) {
  struct kept* kept = kept_of[fd];
  if (kept == NULL) return 0;
  const size_t size = kept->in_size;
  memcpy(loop->in, kept->bytes, size);
  kept_of[fd] = NULL;
  free(kept);
  return size;
}

// Sends the answers that were kept for this connection. When all are sent, also answers the kept input. Returns true if
// the connection is still open and has no unsent output.
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
