// SPDX-License-Identifier: BSD-3-Clause
// See contender_tls.h.
#include "contender_tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/err.h>

enum { kCertificate, kKey };  // positions in contender_words

static void refuse(const char* what) {
  char why[256] = "";
  ERR_error_string_n(ERR_peek_error(), why, sizeof why);
  fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
  exit(1);
}

void contender_tls_set_up(SSL_CTX* context) {
  const char* certificate = contender_words[kCertificate].value;
  const char* key = contender_words[kKey].value;
  if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1) refuse(certificate);
  if (SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) refuse(key);
  if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
      SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") != 1 || SSL_CTX_set_num_tickets(context, 1) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") !=
          1) {
    refuse("cannot set up the TLS context");
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
}

SSL_CTX* contender_tls_context(void) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == NULL) refuse("cannot make a TLS context");
  contender_tls_set_up(context);
  return context;
}
