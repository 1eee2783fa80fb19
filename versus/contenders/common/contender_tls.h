// SPDX-License-Identifier: BSD-3-Clause
// What every TLS contender on OpenSSL shares, so that all do the same cryptography: the certificate of --tls-cert and
// --tls-key, TLS 1.2 and 1.3, X25519 before P-256, the cipher that the client names first, tickets and no cache of
// sessions, one ticket a handshake (each costs 170,000 instructions), no client's certificate. OpenSSL's buffers are
// kept only while something is in them; with read-ahead on, a record takes one read and not two. The two words are the
// first of the list of words of such a contender.
#pragma once
#include <openssl/ssl.h>

#include "contender.h"

#ifdef __cplusplus
extern "C" {
#endif

// Sets up a context that a library has made. Ends the process with a sentence where a file cannot be read.
void contender_tls_set_up(SSL_CTX* context);

// A new one, set up.
SSL_CTX* contender_tls_context(void);

#ifdef __cplusplus
}
#endif
