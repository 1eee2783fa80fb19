// SPDX-License-Identifier: BSD-3-Clause
// The io_uring loop that raw_uring.c and http_raw_uring.c share. There is one ring per thread, made on that thread.
//
// - The ring reports readiness: one multishot accept, and one multishot poll per connection. A poll reports changes
//   until it is cancelled.
// - Input is received with recv() into one warm buffer as soon as it is ready. If the ring received it, each receive
//   would fill its own buffer, which would be cold when the program reads it.
// - Large answers are sent immediately, with send().
// - Small answers are copied into small warm slots and sent by the ring, so that they leave in the system call that
//   waits for the next message.
//
// For small answers the kernel does not wait for room in the socket, so all of their requests are done when that call
// returns. A completion arrives only for answers that were not sent in full. The loop handles these first, so that each
// connection's bytes stay in order. Bytes that did not fit are copied into memory of the connection. Until they are
// sent, the connection is not read.
//
// All functions are static, so that the compiler sees each program as a whole.
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
  kSmallBytes = 2 * 1024,  // up to this size, a system call costs more than a copy and a ring request
  kSlots = 256,            // small answers in one loop iteration; further answers are sent immediately, with send()
  kHeldSends = 16,         // small answers that are submitted together; more would delay the first one
  kSubmissions = 256,
  kCompletions = 8 * 1024,  // the kernel's hash table of polls grows with this number, up to 8192
};

static const uint32_t kInterest = POLLIN | POLLRDHUP;
// Event flags that announce an end of stream or an error. recv() reports the end or the error only when the socket
// holds no more bytes. So after one of these flags, the program reads again, even if a read filled only a part of the
// buffer. Without these flags, a read that filled only a part of the buffer has emptied the socket.
static const uint32_t kMoreToRead = POLLRDHUP | POLLHUP | POLLERR;

// Each request's user_data holds two values. The lowest three bits are one of these operations. The other bits are the
// address of the connection, or 0.
enum operation { kAccept, kAcceptRetry, kPoll, kSmallSend, kSend, kUnwatched, kOperationMask = 7 };

struct kept {
  size_t size;
  size_t sent;  // used for answers only
  char bytes[];
};

struct connection {
  int fd;
  uint32_t news;           // poll events that are not handled yet
  uint64_t small_sent_in;  // value of server.turn when the ring was given its last small answer
  struct kept* unsent;     // output that a ring request is sending now; NULL if there is none
  uint16_t slot;
  uint16_t slot_size;
  bool polled;       // the kernel has a poll of this connection
  bool coming_back;  // it is in the list server.coming_back
  bool ended;        // nothing more is read: end of stream, an error, or the last answer is written
  bool closed;       // the fd is closed; the memory is freed with the poll's last completion
  struct connection* next_back;
};

struct server {
  struct io_uring ring;
  int listener;
  unsigned slots_taken;
  uint64_t turn;                   // number of the current loop iteration; the first one is 1
  bool draining;                   // completion queue has overflowed: events are stored, but no connection is served
  struct connection* coming_back;  // connections to serve in the next iteration, even without new events
  char slots[kSlots][kSmallBytes];
};

// Each program that includes this file implements these functions:
// - new_connection() allocates zeroed memory that begins with a struct connection. It returns NULL if there is no
//   memory.
// - delete_connection() frees that memory.
// - read_and_answer() calls recv() once and answers the received bytes. If the socket is empty, it sets
//   connection->news to 0. After an end of stream, an error or the last answer, it sets connection->ended.
static struct connection* new_connection(void);
static void delete_connection(struct connection* connection);
static void read_and_answer(struct server* server, struct connection* connection);
// Each program implements this callback. If an answer did not fit into the socket, the loop keeps the rest of the
// answer. The loop calls on_all_sent() when this rest has been sent or when sending it has failed.
static void on_all_sent(struct server* server, struct connection* connection);

// Returns a free submission entry whose user_data holds the operation and the connection. The caller fills the other
// fields with a liburing function io_uring_prep_*(), which leaves user_data unchanged. If the submission queue is full,
// submits the queue first.
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

// Starts a multishot poll of the connection's socket. If the socket is readable already, the poll reports this
// immediately.
static void arm_poll(struct server* server, struct connection* connection) {
  io_uring_prep_poll_multishot(request(server, kPoll, connection), connection->fd, kInterest);
  connection->polled = true;
}

static void close_fd(struct server* server, int fd) {
  struct io_uring_sqe* sqe = request(server, kUnwatched, NULL);
  io_uring_prep_close(sqe, fd);
  sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
}

// Closes the connection's socket. A poll holds a reference to the socket, and the kernel sends FIN only when the last
// reference is released. So the poll is cancelled before the fd is closed. If the poll has already ended, the cancel
// request fails, which does no harm.
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

// Copies the bytes into newly allocated memory. If there is no memory, marks the connection as ended and returns NULL.
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

// Sends the connection's unsent bytes with one ring request. The request has no MSG_DONTWAIT, so the kernel waits for
// room in the socket. Because of MSG_WAITALL, the kernel completes the request only when all bytes are sent or sending
// has failed.
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

// Copies a small answer into a slot and sends it with a ring request. Because of IOSQE_CQE_SKIP_SUCCESS, a successful
// request has no completion. Two other flags of the request matter:
// - MSG_DONTWAIT: the kernel takes the bytes that fit into the socket, and completes the request without waiting.
// - MSG_WAITALL: the kernel treats a partial send as a failure. A failed request has a completion, which tells the loop
//   that bytes are left.
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

// True if the connection may have output that is not sent yet. A small answer that was sent in full has no completion.
// The loop therefore counts a small answer without a completion as not sent until the next loop iteration begins.
static bool is_sending(const struct server* server, const struct connection* connection) {
  return connection->unsent != NULL || connection->small_sent_in == server->turn;
}

// Adds the connection to the list of connections that the next loop iteration serves, even without new events.
// serve_connection() calls this function if work on the connection must wait, for one of these reasons:
// - The connection's last small answer may not be sent yet.
// - The connection has used up its reads for this iteration.
// - The completion queue has overflowed. A completion that reports unsent bytes of the connection may be missing.
static void come_back(struct server* server, struct connection* connection) {
  connection->coming_back = true;
  connection->next_back = server->coming_back;
  server->coming_back = connection;
}

// Reads from the connection and answers, at most kReadsPerTurn times. Stops earlier if connection->news is 0, the
// stream has ended, or an answer is not sent yet. May close and free the connection. Does nothing if the connection is
// in the list server->coming_back, because the next loop iteration serves that list. While the completion queue has
// overflowed, only adds the connection to the list.
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
    if (!connection->polled) arm_poll(server, connection);  // the kernel ends a poll if the completion queue is full
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

// Handles the completion of a small answer that was not sent in full. If the send failed, marks the connection as
// ended. Otherwise the socket was full or a signal interrupted the send, so this function sends the rest with another
// request. Small answers that were sent in full have no completion.
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
    default: break;  // a cancel or a close that had nothing to do
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

// Submits all queued requests and waits for at least one completion. Does not wait if connections with work left are in
// the list server->coming_back.
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

// Begins a loop iteration: serves the connections in the list server->coming_back. No small answer of the previous
// iteration may still need its slot, because new small answers overwrite the slots. serve_completed() ensures that.
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

// Opens the ring of `server` and begins to accept connections on `listener`. The struct must be zeroed. The thread that
// will run this server must call this function, because the kernel takes requests only from the thread that made the
// ring (IORING_SETUP_SINGLE_ISSUER).
static void open_server(struct server* server, int listener) {
  server->listener = listener;
  server->turn = 1;
  open_ring(&server->ring);
  arm_accept(server);
}

// Handles the completions that are in the ring now. The completions of small answers come first, because each of them
// reports an answer that was not sent in full. The rest of this answer must be kept before the connection is served
// again. Otherwise a later answer would be sent before the rest.
static void serve_completed(struct server* server) {
  struct io_uring_cqe* cqe;
  unsigned head;
  unsigned count = 0;
  io_uring_for_each_cqe(&server->ring, head, cqe) {
    if (operation_of(cqe) == kSmallSend) dispatch(server, cqe);
    ++count;
  }
  // If the completion queue has overflowed, completions may be missing, so the next loop iteration does not begin yet.
  // If the queue has not overflowed, all completions of small answers have been handled above. Every small answer
  // without a completion has been sent in full.
  server->draining = io_uring_cq_has_overflow(&server->ring);
  if (!server->draining) begin_turn(server);
  unsigned left = count;  // completions that arrive during this call are left to the next call
  io_uring_for_each_cqe(&server->ring, head, cqe) {
    if (left-- == 0) break;
    if (operation_of(cqe) != kSmallSend) dispatch(server, cqe);
  }
  io_uring_cq_advance(&server->ring, count);
}
