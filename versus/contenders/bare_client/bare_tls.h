// SPDX-License-Identifier: BSD-3-Clause
// What the bare clients over TLS share: TLS 1.3 with AES-128-GCM over X25519, so that every server does the same
// cryptography, and a certificate that is not looked at. Blocking sockets: they count what a server does, not how fast
// it is asked. Any failure ends the process with one sentence.
#pragma once
#include <openssl/ssl.h>

#include "bare_tools.h"

struct bare_tls {
  SSL* ssl;
  BIO* out;  // where records are gathered, so that several leave in one send; made on first use
  int fd;
};

SSL_CTX* bare_tls_context(void);

// Connected, hands shaken; with `session` it offers to go on with that one.
struct bare_tls bare_tls_open(SSL_CTX* context, const struct sockaddr_in* target, int source, SSL_SESSION* session);

// Says that it ends, and waits for the server to end too: what it does for that is done then.
void bare_tls_close(struct bare_tls* stream);

// `count` times the same bytes, a record each (or more, beyond 16 KiB), in one send.
void bare_tls_send(struct bare_tls* stream, const char* bytes, size_t size, int count);

// Exactly so many bytes.
void bare_tls_receive(struct bare_tls* stream, char* bytes, size_t size);

// As many as there are, at least one.
size_t bare_tls_receive_some(struct bare_tls* stream, char* bytes, size_t size);

void bare_tls_die(const char* what) __attribute__((noreturn));
