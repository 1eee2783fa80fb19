// SPDX-License-Identifier: BSD-3-Clause
// The floor of HTTP on io_uring: multishot accept and receive into a ring of provided buffers, raw_request.h over what
// came, one send in flight per connection, everything a turn asks for submitted in one system call with the wait. The
// answers of all requests that one receive brought leave in one send. A connection owns a block of memory only while an
// answer is in flight or half a request waits. One ring a thread, made on that thread.
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "contender.h"
#include "contender_http.h"
#include "raw_request.h"

enum {
  kBufferBytes = 8 * 1024,
  kBuffers = 1024,  // lent to the kernel, and given back as soon as they are read
  kOutputBytes = 32 * 1024,
  kInputLimit = 64 * 1024,  // unanswered input a slow reader may send before its receive is cancelled
  kSubmissions = 1024,
  kCompletions = 16 * 1024,
  kBufferGroup = 0,
};

// The low bits of user_data say which request completed; the rest is the connection.
enum operation { kAccept, kAcceptRetry, kReceive, kSend, kUnwatched, kOperationMask = 7 };

struct connection {
  int fd;
  bool receiving;   // a multishot receive is armed
  bool cancelling;  // and it is being cancelled
  bool ended;       // end of stream, an error, or the last answer is written: nothing more is received
  bool answered;    // what is unsent is the last
  char* in;         // unanswered input; NULL while there is none
  size_t in_size;
  size_t in_room;
  char* out;  // the answers in flight; NULL while there are none
  size_t out_size;
  size_t sent;
};

struct server {
  struct io_uring ring;
  struct io_uring_buf_ring* lent_ring;
  char* buffers;
  int listener;
  int given_back;
  void* spare_out;  // the output block that came back last: still in the cache
};

// A tagged submission; the prep functions of liburing leave the tag alone and set everything else.
static struct io_uring_sqe* request(struct server* server, enum operation operation, struct connection* connection) {
  struct io_uring_sqe* sqe = io_uring_get_sqe(&server->ring);
  while (sqe == NULL) {
    io_uring_submit(&server->ring);
    sqe = io_uring_get_sqe(&server->ring);
  }
  io_uring_sqe_set_data64(sqe, (uintptr_t)connection | operation);
  return sqe;
}

static void arm_accept(struct server* server) {
  io_uring_prep_multishot_accept(request(server, kAccept, NULL), server->listener, NULL, NULL, SOCK_CLOEXEC);
}

static void arm_receive(struct server* server, struct connection* connection) {
  struct io_uring_sqe* sqe = request(server, kReceive, connection);
  io_uring_prep_recv_multishot(sqe, connection->fd, NULL, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = kBufferGroup;
  connection->receiving = true;
}

static void cancel_receive(struct server* server, struct connection* connection) {
  if (!connection->receiving || connection->cancelling) return;
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_cancel64(sqe, (uintptr_t)connection | kReceive, 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  connection->cancelling = true;
}

static void send_answers(struct server* server, struct connection* connection) {
  io_uring_prep_send(request(server, kSend, connection), connection->fd, connection->out + connection->sent,
                     connection->out_size - connection->sent, MSG_NOSIGNAL | MSG_WAITALL);
}

// Closes and forgets the connection once no request of it can complete any more.
static void close_if_done(struct server* server, struct connection* connection) {
  if (!connection->ended || connection->out != NULL) return;
  if (connection->receiving) {
    cancel_receive(server, connection);
    return;
  }
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_close(sqe, connection->fd);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  free(connection->in);
  free(connection);
}

static void drop_output(struct server* server, struct connection* connection) {
  free(server->spare_out);
  server->spare_out = connection->out;
  connection->out = NULL;
}

// Keeps input for later. A connection that memory is lacking for ends.
static void keep_input(struct connection* connection, const char* bytes, size_t size) {
  if (size == 0) return;
  if (connection->in_size + size > connection->in_room) {
    const size_t room = connection->in_size + size + kBufferBytes;
    char* grown = realloc(connection->in, room);
    if (grown == NULL) {
      connection->ended = true;
      return;
    }
    connection->in = grown;
    connection->in_room = room;
  }
  memcpy(connection->in + connection->in_size, bytes, size);
  connection->in_size += size;
}

// Answers whole requests and sends; returns how much of the input that took. Only while nothing is in flight.
static size_t answer_input(struct server* server, struct connection* connection, const char* in, size_t size) {
  char* out = server->spare_out != NULL ? server->spare_out : malloc(kOutputBytes);
  server->spare_out = NULL;
  if (out == NULL) {
    connection->ended = true;
    return size;
  }
  const struct raw_outcome outcome = raw_answer(in, size, out, kOutputBytes);
  if (outcome.written == 0) {
    server->spare_out = out;
    return 0;
  }
  connection->out = out;
  connection->out_size = outcome.written;
  connection->sent = 0;
  connection->answered = outcome.ends;
  send_answers(server, connection);
  return outcome.taken;
}

static void answer_kept(struct server* server, struct connection* connection) {
  const size_t taken = answer_input(server, connection, connection->in, connection->in_size);
  connection->in_size -= taken;
  memmove(connection->in, connection->in + taken, connection->in_size);
  if (connection->in_size > 0) return;
  free(connection->in);
  connection->in = NULL;
  connection->in_room = 0;
}

static void take_input(struct server* server, struct connection* connection, const char* bytes, size_t size) {
  if (connection->ended || connection->answered) return;
  if (connection->in_size > 0 || connection->out != NULL) {
    keep_input(connection, bytes, size);
    if (connection->out == NULL && !connection->ended) answer_kept(server, connection);
  } else {
    const size_t taken = answer_input(server, connection, bytes, size);
    keep_input(connection, bytes + taken, size - taken);
  }
}

static void on_accept(struct server* server, const struct io_uring_cqe* cqe) {
  if (cqe->res >= 0) {
    struct connection* connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
      io_uring_prep_close(request(server, kUnwatched, NULL), cqe->res);
    } else {
      connection->fd = cqe->res;
      arm_receive(server, connection);
    }
  }
  if (cqe->flags & IORING_CQE_F_MORE) return;
  if (cqe->res == -EMFILE || cqe->res == -ENFILE || cqe->res == -ENOBUFS || cqe->res == -ENOMEM) {
    static struct __kernel_timespec pause = {.tv_nsec = kContenderRetryMs * 1000000LL};
    io_uring_prep_timeout(request(server, kAcceptRetry, NULL), &pause, 0, 0);
  } else {
    arm_accept(server);
  }
}

static void on_receive(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  if ((cqe->flags & IORING_CQE_F_MORE) == 0) connection->receiving = connection->cancelling = false;
  if (cqe->flags & IORING_CQE_F_BUFFER) {
    const uint16_t buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
    char* bytes = server->buffers + (size_t)buffer * kBufferBytes;
    if (cqe->res > 0) take_input(server, connection, bytes, (size_t)cqe->res);
    io_uring_buf_ring_add(server->lent_ring, bytes, kBufferBytes, buffer, io_uring_buf_ring_mask(kBuffers),
                          server->given_back++);
  }
  const bool again = cqe->res > 0 || cqe->res == -ENOBUFS || cqe->res == -EINTR || cqe->res == -ECANCELED;
  if (!again) connection->ended = true;
  const bool full = connection->out != NULL && connection->in_size >= kInputLimit;
  if (full) {
    cancel_receive(server, connection);
  } else if (!connection->receiving && !connection->ended) {
    arm_receive(server, connection);
  }
  close_if_done(server, connection);
}

static void on_send(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  if (cqe->res < 0 && cqe->res != -EINTR && cqe->res != -EAGAIN) {
    connection->ended = true;
    drop_output(server, connection);
  } else {
    if (cqe->res > 0) connection->sent += (size_t)cqe->res;
    if (connection->sent < connection->out_size) {
      send_answers(server, connection);
      return;
    }
    drop_output(server, connection);
    if (connection->answered) {
      connection->ended = true;
    } else if (connection->in_size > 0) {
      answer_kept(server, connection);
    }
    if (!connection->receiving && !connection->ended && connection->in_size < kInputLimit) {
      arm_receive(server, connection);
    }
  }
  close_if_done(server, connection);
}

static void dispatch(struct server* server, const struct io_uring_cqe* cqe) {
  const uint64_t data = io_uring_cqe_get_data64(cqe);
  struct connection* connection = (struct connection*)(uintptr_t)(data & ~(uint64_t)kOperationMask);
  switch ((enum operation)(data & kOperationMask)) {
    case kReceive: on_receive(server, connection, cqe); break;
    case kSend: on_send(server, connection, cqe); break;
    case kAccept: on_accept(server, cqe); break;
    case kAcceptRetry: arm_accept(server); break;
    default: break;  // a cancel or a close that found nothing to do
  }
}

static void* reserve(size_t size) {
  void* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return memory;
}

static void open_ring(struct server* server) {
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
      .cq_entries = kCompletions,
  };
  errno = -io_uring_queue_init_params(kSubmissions, &server->ring, &parameters);
  if (errno != 0) fail("io_uring is not available here");
  if (io_uring_register_ring_fd(&server->ring) < 0) fail("io_uring_register_ring_fd");
  server->lent_ring = reserve(kBuffers * sizeof(struct io_uring_buf));
  io_uring_buf_ring_init(server->lent_ring);
  struct io_uring_buf_reg registration = {
      .ring_addr = (uintptr_t)server->lent_ring, .ring_entries = kBuffers, .bgid = kBufferGroup};
  errno = -io_uring_register_buf_ring(&server->ring, &registration, 0);
  if (errno != 0) fail("io_uring_register_buf_ring");
  for (uint16_t i = 0; i < kBuffers; ++i) {
    io_uring_buf_ring_add(server->lent_ring, server->buffers + (size_t)i * kBufferBytes, kBufferBytes, i,
                          io_uring_buf_ring_mask(kBuffers), i);
  }
  io_uring_buf_ring_advance(server->lent_ring, kBuffers);
}

static void serve_thread(int listener) {
  struct server server = {.listener = listener, .buffers = reserve((size_t)kBuffers * kBufferBytes)};
  open_ring(&server);
  arm_accept(&server);
  for (;;) {
    const int result = io_uring_submit_and_wait(&server.ring, 1);
    if (result < 0 && result != -EINTR && result != -EBUSY && result != -EAGAIN) {
      errno = -result;
      fail("io_uring_submit_and_wait");
    }
    raw_answers_refresh();
    struct io_uring_cqe* cqe;
    unsigned head;
    unsigned count = 0;
    io_uring_for_each_cqe(&server.ring, head, cqe) {
      dispatch(&server, cqe);
      ++count;
    }
    io_uring_cq_advance(&server.ring, count);
    // One store lends the kernel the whole batch of buffers again.
    if (server.given_back > 0) io_uring_buf_ring_advance(server.lent_ring, server.given_back);
    server.given_back = 0;
  }
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
