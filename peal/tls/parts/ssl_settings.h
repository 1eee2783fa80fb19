// SPDX-License-Identifier: BSD-3-Clause
// Helpers around OpenSSL that servers and clients share: owning pointers, the error queue, and the settings of an
// SSL_CTX. Versions, ciphers and curves follow Mozilla's "intermediate" recommendation, without the finite-field
// key exchange (DHE).
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <peal/base/fd.h>
#include <peal/tls/tls_options.h>

namespace peal::detail {

template <auto free>
struct FreedBy {
  void operator()(auto* object) const { free(object); }
};
template <class T, auto free>
using Freed = std::unique_ptr<T, FreedBy<free>>;

using BioPtr = Freed<BIO, BIO_free>;
using KeyPtr = Freed<EVP_PKEY, EVP_PKEY_free>;
using SessionPtr = Freed<SSL_SESSION, SSL_SESSION_free>;
using SslCtxPtr = Freed<SSL_CTX, SSL_CTX_free>;
using X509Ptr = Freed<X509, X509_free>;

// Empties this thread's OpenSSL error queue on destruction. Functions that are called from other modules hold a
// NoOpensslErrors while they use OpenSSL, because SSL_get_error(3) gives wrong answers if old errors are left in the
// queue.
struct NoOpensslErrors {
  ~NoOpensslErrors() { ERR_clear_error(); }
};

// Returns `sentence`, a colon and the text of the last error in OpenSSL's queue.
inline std::string openssl_says(const std::string& sentence) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return sentence + ": " + (reason == nullptr ? "OpenSSL does not say why" : reason);
}

// Returns the text that was written to a memory BIO.
inline std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

// Returns the time of `clock`, or of the system clock if `clock` is null.
inline std::chrono::sys_seconds tls_now(TlsClock clock) {
  return clock != nullptr ? clock() : std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Returns an SSL_CTX with peal's versions, ciphers, curves and modes. Returns null if this OpenSSL does not offer them.
SslCtxPtr make_ssl_ctx(const SSL_METHOD* method, const TlsLimits& limits);

// Makes OpenSSL compare the peer's certificates with `clock`. A null clock leaves the system clock in use.
inline void set_time(SSL* ssl, TlsClock clock) {
  if (clock != nullptr) X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), clock().time_since_epoch().count());
}

std::chrono::sys_seconds time_of(const ASN1_TIME* time);

// Error text for a list of applications that alpn_list() refuses.
inline constexpr const char* kBadApplication =
    "applications: each name (ALPN) must have 1 to 255 bytes, and the whole list at most 65535";

// Appends the names in `applications` to `list` in the form in which ALPN sends them (RFC 7301 3.1), each after its
// length. Returns false if a name or the whole list is too long, or a name is empty. The error text for this is
// kBadApplication.
bool alpn_list(const std::vector<std::string>& applications, std::string& list);

// Opens the file to which the secrets of connections are appended (SSLKEYLOGFILE). A new file is readable and writable
// only by its owner. If `path` is empty, returns no fd. If the file cannot be opened, returns a sentence that says why.
TlsResult<Fd> open_key_log(const std::string& path);

// Appends one line to the key log. A line is one write(2), so that lines of several threads and processes do not mix. A
// line that the disk has no room for is lost.
void write_key_line(const Fd& file, std::string line);

}  // namespace peal::detail
