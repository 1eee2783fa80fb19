// SPDX-License-Identifier: BSD-3-Clause
// Functions that the bare clients over TLS share. They use TLS 1.3 with AES-128-GCM over X25519, so that every server
// does the same cryptography. The server's certificate is not checked. Sockets are blocking, because these clients
// count what a server does, not how fast it answers. Any failure prints one sentence and ends the process.
#pragma once
#include <openssl/ssl.h>

#include "bare_tools.h"

struct bare_tls {
  SSL* ssl;
  BIO* out;  // collects records so that several leave in one send(); created on first use
  int fd;
};

SSL_CTX* bare_tls_context(void);

// Opens a TCP connection with open_stream() and does the TLS handshake. If `session` is not NULL, offers to resume it.
struct bare_tls bare_tls_open(SSL_CTX* context, const struct sockaddr_in* target, int source, SSL_SESSION* session);

// Sends close_notify and waits until the server has closed the connection. A server closes a connection only after its
// other work for the connection. When this function returns, that work is therefore done. Also closes the client's
// socket.
void bare_tls_close(struct bare_tls* stream);

// Encrypts `count` copies of `bytes` and sends all of them with one send(). The socket is blocking, so a second send()
// is needed only if a signal interrupts the first. Each copy is one TLS record, or several records if the copy is
// longer than 16 KiB.
void bare_tls_send(struct bare_tls* stream, const char* bytes, size_t size, int count);

// Receives exactly `size` bytes. Waits until all of them have arrived.
void bare_tls_receive(struct bare_tls* stream, char* bytes, size_t size);

// Receives at least one byte and at most `size` bytes. Returns their number. Waits if no byte has arrived yet.
size_t bare_tls_receive_some(struct bare_tls* stream, char* bytes, size_t size);

void bare_tls_die(const char* what) __attribute__((noreturn));
