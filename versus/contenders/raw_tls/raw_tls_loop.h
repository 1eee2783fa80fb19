// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL on a bare epoll loop: the floor of TLS, that is the least it can cost. raw_tls.c makes an echo server of it,
// https_raw.c an HTTP server. One loop per thread:
// - OpenSSL gets each socket (SSL_set_fd). Each socket is registered once, level-triggered, so that a read that emptied
//   OpenSSL's buffer needs no second read to find the socket empty.
// - Each thread has one warm buffer for input and one for output.
// - A stream has its own memory only while it holds an incomplete request or unsent output. While output waits, the
//   stream is not read.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#include "contender.h"

enum { kTlsInputBytes = 128 * 1024, kTlsOutputBytes = 64 * 1024 };

struct raw_tls_loop {
  int poller;
  char* in;
  char* out;  // a buffer in which the server may build its output
};

struct raw_tls_kept;

struct raw_tls_stream {
  SSL* ssl;
  struct raw_tls_kept* unread;  // input that is not a complete request yet
  struct raw_tls_kept* unsent;  // output that the socket has not taken yet
  long long sends_from;         // the server's position in a longer answer that it sends in pieces; starts at 0
  bool sends;                   // true while an answer that is sent in pieces is not finished
  bool was_sending;             // true if it has stopped after some pieces, so that other streams are served
  bool ends;                    // the stream is closed when all output is sent
  bool waits_to_write;          // epoll watches for writability
};

// Each program defines this constant. If it is false, the loop calls raw_tls_take() after each record. If it is true,
// the loop first reads the other records that OpenSSL has already received, and passes all of them to one call of
// raw_tls_take(). One call gets at most kTlsInputBytes bytes, and at most kReadsPerTurn new records.
extern const bool raw_tls_gathers;

// Each program implements this function, for example to update the Date of its answers. The event loop calls it once in
// each iteration, before raw_tls_take() and raw_tls_send_piece().
void raw_tls_turn(void);

// Each program implements this function. It answers the complete requests in `in` with raw_tls_send(). It stops early
// if raw_tls_send() returns false, if it has begun an answer that is sent in pieces, or if it has set stream->ends.
// Returns how many bytes of `in` it has answered. The loop keeps the other bytes, and passes them again when the output
// is sent or more input has arrived. `size` may be 0.
size_t raw_tls_take(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* in, size_t size);

// Each program implements this function. It sends the next piece of a long answer. The loop calls it while
// stream->sends is true and no earlier output is unsent.
void raw_tls_send_piece(const struct raw_tls_loop* loop, struct raw_tls_stream* stream);

// Encrypts and sends output. Returns true if the socket has taken all of it. Returns false in two cases:
// - The socket is full: the rest of the output is kept and sent later.
// - The stream has failed: stream->ends is set.
bool raw_tls_send(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* out, size_t size);

// Runs the server on all threads. A program's serve() calls this function and returns its result.
int raw_tls_serve(const struct contender_options* options);
