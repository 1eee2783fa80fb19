// SPDX-License-Identifier: BSD-3-Clause
// See bare_tls.h.
#include "bare_tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

void bare_tls_die(const char* what) {
  char why[256] = "the connection ended";
  if (ERR_peek_error() != 0) ERR_error_string_n(ERR_peek_error(), why, sizeof why);
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

SSL_CTX* bare_tls_context(void) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set1_groups_list(context, "X25519") != 1) {
    bare_tls_die("cannot set up the TLS context");
  }
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  return context;
}

struct bare_tls bare_tls_open(SSL_CTX* context, const struct sockaddr_in* target, int source, SSL_SESSION* session) {
  struct bare_tls stream = {.fd = open_stream(target, source, 0)};
  if (stream.fd < 0) fail("connect");
  stream.ssl = SSL_new(context);
  if (stream.ssl == NULL || SSL_set_fd(stream.ssl, stream.fd) != 1) bare_tls_die("cannot make a TLS stream");
  if (session != NULL && SSL_set_session(stream.ssl, session) != 1) bare_tls_die("cannot offer the session");
  SSL_set_tlsext_host_name(stream.ssl, "localhost");
  if (SSL_connect(stream.ssl) != 1) bare_tls_die("the TLS handshake failed");
  return stream;
}

void bare_tls_close(struct bare_tls* stream) {
  char ignored[4096];
  SSL_shutdown(stream->ssl);
  if (stream->out != NULL) bare_tls_send(stream, NULL, 0, 0);
  while (recv(stream->fd, ignored, sizeof ignored, 0) > 0) continue;
  SSL_free(stream->ssl);
  close(stream->fd);
}

static void gather(struct bare_tls* stream) {
  stream->out = BIO_new(BIO_s_mem());
  if (stream->out == NULL) bare_tls_die("out of memory");
  SSL_set0_wbio(stream->ssl, stream->out);
}

void bare_tls_send(struct bare_tls* stream, const char* bytes, size_t size, int count) {
  if (stream->out == NULL) gather(stream);
  for (int i = 0; i < count; ++i) {
    if (SSL_write(stream->ssl, bytes, (int)size) != (int)size) bare_tls_die("SSL_write");
  }
  char* records = NULL;
  const long left = BIO_get_mem_data(stream->out, &records);
  for (long done = 0; done < left;) {
    const ssize_t sent = send(stream->fd, records + done, (size_t)(left - done), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) fail("send");
    done += sent > 0 ? sent : 0;
  }
  BIO_reset(stream->out);
}

size_t bare_tls_receive_some(struct bare_tls* stream, char* bytes, size_t size) {
  const int got = SSL_read(stream->ssl, bytes, (int)size);
  if (got <= 0) bare_tls_die("SSL_read");
  return (size_t)got;
}

void bare_tls_receive(struct bare_tls* stream, char* bytes, size_t size) {
  for (size_t done = 0; done < size;) done += bare_tls_receive_some(stream, bytes + done, size - done);
}
