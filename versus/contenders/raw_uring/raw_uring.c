// SPDX-License-Identifier: BSD-3-Clause
// The floor of io_uring: multishot accept and receive into a ring of provided buffers, sends straight from those
// buffers, everything a turn asks for submitted in one system call with the wait. A connection has one send in flight
// and a short queue of received buffers behind it, so its bytes stay in order. One ring a thread, made on that thread.
#include <errno.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "contender.h"

enum {
  kBufferBytes = 20 * 1024,  // holds a 16 KiB message with room to spare
  kBuffers = 4096,           // reserved, not resident: a buffer costs memory from its first use on
  kRingEntries = 1024,       // the most buffers lent to the kernel at once
  kLentAtFirst = 256,        // few enough to stay warm; doubled whenever the ring runs dry
  kQueueLimit = 8,           // received buffers a slow reader may hold before its receive is cancelled
  kSubmissions = 1024,
  kCompletions = 16 * 1024,
  kBufferGroup = 0,
};

// The low bits of user_data say which request completed; the rest is the connection.
enum operation { kAccept, kAcceptRetry, kReceive, kSend, kUnwatched, kOperationMask = 7 };

struct connection {
  int fd;
  bool receiving;  // a multishot receive is armed
  bool sending;
  bool ended;      // end of stream or an error: nothing more is received
  bool paused;     // the queue is full: the receive was cancelled
  bool starved;    // in server.starved, waiting for a buffer
  uint16_t first;  // the queue, linked by server.next_of; the first is the one being sent
  uint16_t last;
  uint16_t queued;
  uint32_t sent;  // bytes of the first that are out
  struct connection* next_starved;
};

struct server {
  struct io_uring ring;
  struct io_uring_buf_ring* lent_ring;
  char* buffers;
  int listener;
  unsigned lent;
  unsigned lent_target;
  unsigned free_count;
  struct connection* starved;
  uint16_t free_stack[kBuffers];  // the last one back is the first one lent: it is still in the cache
  uint16_t next_of[kBuffers];
  uint32_t length_of[kBuffers];
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

static char* bytes_of(const struct server* server, uint16_t buffer) {
  return server->buffers + (size_t)buffer * kBufferBytes;
}

static void take_back(struct server* server, uint16_t buffer) { server->free_stack[server->free_count++] = buffer; }

// Lends the kernel what it is short of; one store publishes the whole batch.
static void lend_buffers(struct server* server) {
  int added = 0;
  while (server->lent < server->lent_target && server->free_count > 0) {
    const uint16_t buffer = server->free_stack[--server->free_count];
    io_uring_buf_ring_add(server->lent_ring, bytes_of(server, buffer), kBufferBytes, buffer,
                          io_uring_buf_ring_mask(kRingEntries), added++);
    ++server->lent;
  }
  if (added > 0) io_uring_buf_ring_advance(server->lent_ring, added);
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
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_cancel64(sqe, (uintptr_t)connection | kReceive, 0);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

static void send_first(struct server* server, struct connection* connection) {
  const uint16_t buffer = connection->first;
  io_uring_prep_send(request(server, kSend, connection), connection->fd, bytes_of(server, buffer) + connection->sent,
                     server->length_of[buffer] - connection->sent, MSG_NOSIGNAL | MSG_WAITALL);
  connection->sending = true;
}

static void push_buffer(struct server* server, struct connection* connection, uint16_t buffer) {
  if (connection->queued++ == 0) {
    connection->first = buffer;
  } else {
    server->next_of[connection->last] = buffer;
  }
  connection->last = buffer;
}

static void pop_buffer(struct server* server, struct connection* connection) {
  take_back(server, connection->first);
  connection->first = server->next_of[connection->first];
  connection->sent = 0;
  --connection->queued;
}

// Closes and forgets the connection once no request of it can complete any more.
static void close_if_done(struct server* server, struct connection* connection) {
  if (!connection->ended || connection->receiving || connection->sending || connection->queued > 0 ||
      connection->starved) {
    return;
  }
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_close(sqe, connection->fd);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  free(connection);
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
  if ((cqe->flags & IORING_CQE_F_MORE) == 0) connection->receiving = false;
  if (cqe->flags & IORING_CQE_F_BUFFER) {
    const uint16_t buffer = (uint16_t)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);
    --server->lent;
    if (cqe->res > 0 && !connection->ended) {
      server->length_of[buffer] = (uint32_t)cqe->res;
      push_buffer(server, connection, buffer);
      if (!connection->sending) send_first(server, connection);
    } else {
      take_back(server, buffer);
    }
  }
  if (cqe->res == -ENOBUFS) {
    if (server->lent_target < kRingEntries) server->lent_target *= 2;
    if (!connection->ended && !connection->paused) {
      connection->starved = true;
      connection->next_starved = server->starved;
      server->starved = connection;
    }
  } else if (cqe->res == 0 || (cqe->res < 0 && cqe->res != -ECANCELED && cqe->res != -EINTR)) {
    connection->ended = true;
  } else if (!connection->receiving && !connection->paused && !connection->ended) {
    arm_receive(server, connection);
  } else if (connection->receiving && !connection->paused && connection->queued >= kQueueLimit) {
    connection->paused = true;
    cancel_receive(server, connection);
  }
  close_if_done(server, connection);
}

static void on_send(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  connection->sending = false;
  if (cqe->res < 0 && cqe->res != -EINTR && cqe->res != -EAGAIN) {
    while (connection->queued > 0) pop_buffer(server, connection);
    if (connection->receiving && !connection->ended) cancel_receive(server, connection);
    connection->ended = true;
  } else if (cqe->res > 0) {
    connection->sent += (uint32_t)cqe->res;
    if (connection->sent == server->length_of[connection->first]) pop_buffer(server, connection);
  }
  if (connection->queued > 0) {
    send_first(server, connection);
  } else if (connection->paused && !connection->receiving && !connection->ended) {
    connection->paused = false;
    arm_receive(server, connection);
  }
  close_if_done(server, connection);
}

// Once a turn, after its buffers have come back. While none is left, the next send to complete frees one.
static void feed_starved(struct server* server) {
  unsigned hungry = server->lent;
  while (server->starved != NULL && hungry-- > 0) {
    struct connection* connection = server->starved;
    server->starved = connection->next_starved;
    connection->starved = false;
    if (connection->ended) {
      close_if_done(server, connection);
    } else {
      arm_receive(server, connection);
    }
  }
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
  server->lent_ring = reserve(kRingEntries * sizeof(struct io_uring_buf));
  io_uring_buf_ring_init(server->lent_ring);
  struct io_uring_buf_reg registration = {
      .ring_addr = (uintptr_t)server->lent_ring, .ring_entries = kRingEntries, .bgid = kBufferGroup};
  errno = -io_uring_register_buf_ring(&server->ring, &registration, 0);
  if (errno != 0) fail("io_uring_register_buf_ring");
}

static void serve_thread(int listener) {
  struct server* server = reserve(sizeof *server);
  server->listener = listener;
  server->lent_target = kLentAtFirst;
  server->buffers = reserve((size_t)kBuffers * kBufferBytes);
  for (unsigned i = kBuffers; i > 0; --i) take_back(server, (uint16_t)(i - 1));
  open_ring(server);
  lend_buffers(server);
  arm_accept(server);
  for (;;) {
    const int result = io_uring_submit_and_wait(&server->ring, 1);
    if (result < 0 && result != -EINTR && result != -EBUSY && result != -EAGAIN) {
      errno = -result;
      fail("io_uring_submit_and_wait");
    }
    struct io_uring_cqe* cqe;
    unsigned head;
    unsigned count = 0;
    io_uring_for_each_cqe(&server->ring, head, cqe) {
      dispatch(server, cqe);
      ++count;
    }
    io_uring_cq_advance(&server->ring, count);
    lend_buffers(server);
    if (server->starved != NULL) feed_starved(server);
  }
}

int serve(const struct contender_options* options) { return serve_on_each_thread(options, serve_thread); }
