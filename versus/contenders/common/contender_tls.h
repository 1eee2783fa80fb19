// SPDX-License-Identifier: BSD-3-Clause
// The part that all TLS contenders on OpenSSL share, so that all do the same cryptography. The settings:
// - the certificate of --tls-cert and the key of --tls-key, which must be the first two entries of contender_words
// - TLS 1.2 and 1.3, X25519 before P-256
// - the cipher that comes first in the client's list
// - session tickets, one per handshake (each costs 170,000 instructions), and no session cache
// - no client certificate
// - OpenSSL keeps its buffers only while they hold data
// - read-ahead is on, so that a record takes one read() instead of two
#pragma once
#include <openssl/ssl.h>

#include "contender.h"

#ifdef __cplusplus
extern "C" {
#endif

// Applies the TLS settings that are listed at the top of this file to a context that a library has made. If the
// certificate or the key cannot be loaded, prints the reason and ends the process.
void contender_tls_set_up(SSL_CTX* context);

// Makes a TLS context and applies the settings that are listed at the top of this file.
SSL_CTX* contender_tls_context(void);

#ifdef __cplusplus
}
#endif
