// SPDX-License-Identifier: BSD-3-Clause
// The floor of an echo over TLS, that is the least it can cost: each record that OpenSSL has decrypted is sent back. If
// messages arrive together, each leaves in its own write; with GATHER all of them leave in one write.
#include "contender_tls.h"
#include "raw_tls_loop.h"

struct contender_word contender_words[] = {
    {"--tls-cert", "FILE", NULL, 0}, {"--tls-key", "FILE", NULL, 0}, {.name = NULL}};

const bool raw_tls_gathers = GATHER;

void raw_tls_turn(void) {}

size_t raw_tls_take(const struct raw_tls_loop* loop, struct raw_tls_stream* stream, const char* in, size_t size) {
  if (size > 0) raw_tls_send(loop, stream, in, size);
  return size;
}

void raw_tls_send_piece(const struct raw_tls_loop* loop, struct raw_tls_stream* stream) {
  (void)loop;
  stream->sends = false;
}

int serve(const struct contender_options* options) { return raw_tls_serve(options); }
