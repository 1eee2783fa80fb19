// SPDX-License-Identifier: BSD-3-Clause
// The io_uring loop that raw_uring.c and http_raw_uring.c share. The ring tells of readiness: a multishot accept, and a
// multishot poll per connection, which reports changes until it is cancelled. What is ready is received at once into
// one warm buffer; receives left to the ring would have filled a buffer for each of them, cold by the time it is looked
// at. Bulk is sent at once too.
//
// A small answer is sent by the ring, out of a small warm slot, so that it leaves in the system call that waits for the
// next message. The kernel does not wait for room, so all of them are done when that call returns, and says only which
// were not sent in full. Those are looked at first, so their bytes stay in order. What there was no room for goes into
// a block of the connection's own; reading rests meanwhile.
//
// One ring a thread, made on that thread. All functions are static, so that each program is compiled as a whole.
#pragma once
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "contender.h"

enum {
  kReadBytes = 64 * 1024,
  kReadsPerTurn = 16,
  kSmallBytes = 2 * 1024,  // up to here a system call costs more than a copy and a request
  kSlots = 256,            // in one turn; what is more is sent at once
  kHeldSends = 16,         // the first answer of a turn should not wait for the last
  kSubmissions = 256,
  kCompletions = 8 * 1024,  // the kernel's table of polls, too, grows with it, up to here
};

static const uint32_t kInterest = POLLIN | POLLRDHUP;
// With one of these a short read is no proof that the socket is empty: the end or an error stands behind it.
static const uint32_t kMoreToRead = POLLRDHUP | POLLHUP | POLLERR;

// The low bits of user_data say which request completed; the rest is the connection.
enum operation { kAccept, kAcceptRetry, kPoll, kSmallSend, kSend, kUnwatched, kOperationMask = 7 };

struct kept {
  size_t size;
  size_t sent;  // of an answer
  char bytes[];
};

struct connection {
  int fd;
  uint32_t news;           // what the poll told, until reading has used it up
  uint64_t small_sent_in;  // the turn of its last small send
  struct kept* unsent;     // a send of this is under way
  uint16_t slot;
  uint16_t slot_size;
  bool polled;       // the kernel holds its poll
  bool coming_back;  // in server.coming_back
  bool ended;        // end of stream, an error, or the last answer is written: nothing more is read
  bool closed;       // and forgotten when its poll has completed for the last time
  struct connection* next_back;
};

struct server {
  struct io_uring ring;
  int listener;
  unsigned slots_taken;
  uint64_t turn;                   // from 1 on; 0 is none
  bool draining;                   // completions are more than the ring holds: they are noted, and nobody is served
  struct connection* coming_back;  // to be served in the next turn, told or not
  char slots[kSlots][kSmallBytes];
};

// Each program implements these. new_connection() returns zeroed memory that begins with a struct connection, or NULL.
// read_and_answer() receives once. When there is no more to read, it clears `news` or sets `ended`.
static struct connection* new_connection(void);
static void delete_connection(struct connection* connection);
static void read_and_answer(struct server* server, struct connection* connection);
// What send_answer() could not send at once is out, or has failed.
static void on_all_sent(struct server* server, struct connection* connection);

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

// Tells at once of what is ready by now.
static void arm_poll(struct server* server, struct connection* connection) {
  io_uring_prep_poll_multishot(request(server, kPoll, connection), connection->fd, kInterest);
  connection->polled = true;
}

static void close_fd(struct server* server, int fd) {
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_close(sqe, fd);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

// A poll holds the socket open, and no FIN leaves before it has ended. Its last completion may be on the way already:
// then the cancel finds nothing.
static void close_connection(struct server* server, struct connection* connection) {
  if (connection->polled) {
    struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
    io_uring_prep_cancel64(sqe, (uintptr_t)connection | kPoll, 0);
    sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  }
  close_fd(server, connection->fd);
  connection->closed = true;
  if (!connection->polled) delete_connection(connection);
}

// A connection that memory is lacking for ends.
static struct kept* keep(struct connection* connection, const char* bytes, size_t size) {
  struct kept* kept = malloc(sizeof *kept + size);
  if (kept == NULL) {
    connection->ended = true;
    return NULL;
  }
  kept->size = size;
  kept->sent = 0;
  memcpy(kept->bytes, bytes, size);
  return kept;
}

// Without MSG_DONTWAIT: the kernel waits for room, and the request completes when all is out.
static void send_unsent(struct server* server, struct connection* connection) {
  const struct kept* rest = connection->unsent;
  io_uring_prep_send(request(server, kSend, connection), connection->fd, rest->bytes + rest->sent,
                     rest->size - rest->sent, MSG_NOSIGNAL | MSG_WAITALL);
}

static void keep_unsent(struct server* server, struct connection* connection, const char* bytes, size_t size) {
  connection->unsent = keep(connection, bytes, size);
  if (connection->unsent != NULL) send_unsent(server, connection);
}

static void send_at_once(struct server* server, struct connection* connection, const char* bytes, size_t size) {
  const ssize_t result = send(connection->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (result < 0 && errno != EAGAIN && errno != EINTR) {
    connection->ended = true;
    return;
  }
  const size_t sent = result < 0 ? 0 : (size_t)result;
  if (sent < size) keep_unsent(server, connection, bytes + sent, size - sent);
}

// With MSG_DONTWAIT it is done when the kernel has taken it; MSG_WAITALL makes less than all of it a failure.
static void send_by_ring(struct server* server, struct connection* connection, const char* bytes, size_t size) {
  connection->slot = (uint16_t)server->slots_taken++;
  connection->slot_size = (uint16_t)size;
  connection->small_sent_in = server->turn;
  char* slot = server->slots[connection->slot];
  memcpy(slot, bytes, size);
  struct io_uring_sqe* sqe = request(server, kSmallSend, connection);
  io_uring_prep_send(sqe, connection->fd, slot, size, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
  if (server->slots_taken % kHeldSends == 0) io_uring_submit(&server->ring);
}

static void send_answer(struct server* server, struct connection* connection, const char* bytes, size_t size) {
  if (size <= kSmallBytes && server->slots_taken < kSlots) {
    send_by_ring(server, connection, bytes, size);
  } else {
    send_at_once(server, connection, bytes, size);
  }
}

// Whether it is not known yet that all it was sent so far is out.
static bool is_sending(const struct server* server, const struct connection* connection) {
  return connection->unsent != NULL || connection->small_sent_in == server->turn;
}

// Whoever has news, or has ended, and must let a small send be done or others be served first.
static void come_back(struct server* server, struct connection* connection) {
  connection->coming_back = true;
  connection->next_back = server->coming_back;
  server->coming_back = connection;
}

// Reads while there is news and nothing stands in the way. May end with the connection forgotten.
static void serve_connection(struct server* server, struct connection* connection) {
  if (connection->coming_back) return;
  if (server->draining) {
    come_back(server, connection);
    return;
  }
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    if (connection->news == 0 || connection->ended || is_sending(server, connection)) break;
    read_and_answer(server, connection);
  }
  if (connection->news == 0 && !connection->ended) {
    if (!connection->polled) arm_poll(server, connection);  // it ends by itself where the ring has no room
  } else if (connection->ended && !is_sending(server, connection)) {
    close_connection(server, connection);
  } else if (connection->unsent == NULL) {
    come_back(server, connection);
  }
}

static void on_accept(struct server* server, const struct io_uring_cqe* cqe) {
  if (cqe->res >= 0) {
    struct connection* connection = new_connection();
    if (connection == NULL) {
      close_fd(server, cqe->res);
    } else {
      connection->fd = cqe->res;
      arm_poll(server, connection);
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

static void on_poll(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  connection->polled = (cqe->flags & IORING_CQE_F_MORE) != 0;
  if (connection->closed) {
    if (!connection->polled) delete_connection(connection);
    return;
  }
  if (cqe->res < 0) {
    connection->ended = true;
  } else {
    connection->news |= (uint32_t)cqe->res;
  }
  serve_connection(server, connection);
}

static bool is_failure(int result) { return result < 0 && result != -EAGAIN && result != -EINTR; }

// Of a small send that was not done in full.
static void on_small_send(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  const size_t sent = cqe->res < 0 ? 0 : (size_t)cqe->res;
  connection->small_sent_in = 0;
  if (is_failure(cqe->res)) {
    connection->ended = true;
  } else {
    keep_unsent(server, connection, server->slots[connection->slot] + sent, connection->slot_size - sent);
  }
  serve_connection(server, connection);
}

static void on_send(struct server* server, struct connection* connection, const struct io_uring_cqe* cqe) {
  struct kept* rest = connection->unsent;
  if (cqe->res > 0) rest->sent += (size_t)cqe->res;
  if (is_failure(cqe->res)) {
    connection->ended = true;
  } else if (rest->sent < rest->size) {
    send_unsent(server, connection);
    return;
  }
  free(rest);
  connection->unsent = NULL;
  on_all_sent(server, connection);
  serve_connection(server, connection);
}

static enum operation operation_of(const struct io_uring_cqe* cqe) {
  return (enum operation)(io_uring_cqe_get_data64(cqe) & kOperationMask);
}

static void dispatch(struct server* server, const struct io_uring_cqe* cqe) {
  struct connection* connection =
      (struct connection*)(uintptr_t)(io_uring_cqe_get_data64(cqe) & ~(uint64_t)kOperationMask);
  switch (operation_of(cqe)) {
    case kPoll: on_poll(server, connection, cqe); break;
    case kSmallSend: on_small_send(server, connection, cqe); break;
    case kSend: on_send(server, connection, cqe); break;
    case kAccept: on_accept(server, cqe); break;
    case kAcceptRetry: arm_accept(server); break;
    default: break;  // a cancel or a close that found nothing to do
  }
}

static void open_ring(struct io_uring* ring) {
  struct io_uring_params parameters = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE,
      .cq_entries = kCompletions,
  };
  errno = -io_uring_queue_init_params(kSubmissions, ring, &parameters);
  if (errno != 0) fail("io_uring is not available here");
  if (io_uring_register_ring_fd(ring) < 0) fail("io_uring_register_ring_fd");
}

// Returns when the kernel has all requests and something has completed or is to be served anyway.
static void submit_and_wait(struct server* server) {
  struct io_uring* ring = &server->ring;
  do {
    const int result =
        server->coming_back != NULL ? io_uring_submit_and_get_events(ring) : io_uring_submit_and_wait(ring, 1);
    if (result < 0 && result != -EINTR && result != -EBUSY && result != -EAGAIN) {
      errno = -result;
      fail("io_uring_enter");
    }
  } while (io_uring_sq_ready(ring) > 0);
}

// All small sends of the turn are done.
static void begin_turn(struct server* server) {
  ++server->turn;
  server->slots_taken = 0;
  struct connection* connection = server->coming_back;
  server->coming_back = NULL;
  while (connection != NULL) {
    struct connection* next = connection->next_back;
    connection->coming_back = false;
    serve_connection(server, connection);
    connection = next;
  }
}

// Makes the ring of `server`, which is zeroed, on the thread that serves `listener`.
static void open_server(struct server* server, int listener) {
  server->listener = listener;
  server->turn = 1;
  open_ring(&server->ring);
  arm_accept(server);
}

// Serves what submit_and_wait() has brought.
static void serve_completed(struct server* server) {
  struct io_uring_cqe* cqe;
  unsigned head;
  unsigned count = 0;
  io_uring_for_each_cqe(&server->ring, head, cqe) {
    if (operation_of(cqe) == kSmallSend) dispatch(server, cqe);
    ++count;
  }
  // A small send without a completion by now was sent in full, unless the ring had no room for all completions.
  server->draining = io_uring_cq_has_overflow(&server->ring);
  if (!server->draining) begin_turn(server);
  unsigned left = count;  // what completes from here on is for the next turn: small sends first
  io_uring_for_each_cqe(&server->ring, head, cqe) {
    if (left-- == 0) break;
    if (operation_of(cqe) != kSmallSend) dispatch(server, cqe);
  }
  io_uring_cq_advance(&server->ring, count);
}
