// SPDX-License-Identifier: BSD-3-Clause
// OpenSSL on a bare epoll loop: the floor of TLS, of which raw_tls.c makes an echo and https_raw.c an HTTP server. Each
// socket is given to OpenSSL (SSL_set_fd) and registered once, level-triggered, so that a read that emptied OpenSSL's
// buffer needs no second one to find the socket empty. One warm buffer for input and one for output per thread; memory
// of a stream's own exists only while half a request or unsent output waits. While output waits, reading rests. One
// loop per thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

#include "contender.h"

enum { kTlsInputBytes = 128 * 1024, kTlsOutputBytes = 64 * 1024 };

struct raw_tls_loop {
  int poller;
  char* in;
  char* out;  // for the server to make its output in
};

struct raw_tls_kept;

struct raw_tls_stream {
  SSL* ssl;
  struct raw_tls_kept* unread;  // input that is not whole yet
  struct raw_tls_kept* unsent;  // output that came short
  long long sends_from;         // how far the server has got with what it sends piece by piece; 0 at first
  bool sends;                   // whether there is more of it
  bool was_sending;             // and has had its turn
  bool ends;                    // closed as soon as all is sent
  bool waits_to_write;          // registered for that
};

// Whether records that came together are read before they are handed over.
extern const bool raw_tls_gathers;

// Once a turn, before anything is handed over.
void raw_tls_turn(void);

// What has come, some of it perhaps for the second time: answers it with raw_tls_send() as far as it is whole and
// nothing is unsent, and returns how many bytes that was. Called again when the output is out, or more has come.
size_t raw_tls_take(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* in, size_t size);

// While stream->sends and all output is out: sends the next piece.
void raw_tls_send_piece(const struct raw_tls_loop* loop, struct raw_tls_stream* stream);

// Writes, and keeps what came short: false then. A stream that failed is marked as one that ends.
bool raw_tls_send(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* out, size_t size);

// The whole of serve().
int raw_tls_serve(const struct contender_options* options);
