// SPDX-License-Identifier: BSD-3-Clause
// What both sides have of OpenSSL: its objects, owned; its queue of errors; and its settings, which are versions,
// ciphers and curves after Mozilla's "intermediate" page, less those of finite fields (DHE).
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

// Held by who calls OpenSSL for somebody outside: what SSL_get_error(3) answers depends on an empty queue.
struct NoOpensslErrors {
  ~NoOpensslErrors() { ERR_clear_error(); }
};
// A sentence that ends with the words of the error that came last.
inline std::string openssl_says(const std::string& sentence) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return sentence + ": " + (reason == nullptr ? "OpenSSL does not say why" : reason);
}

// What was written to a BIO in memory.
inline std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

inline std::chrono::sys_seconds tls_now(TlsClock clock) {
  return clock != nullptr ? clock() : std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

// Null: OpenSSL does not offer it.
SslCtxPtr make_ssl_ctx(const SSL_METHOD* method, const TlsLimits& limits);
// Certificates are compared with the user's clock.
inline void set_time(SSL* ssl, TlsClock clock) {
  if (clock != nullptr) X509_VERIFY_PARAM_set_time(SSL_get0_param(ssl), clock().time_since_epoch().count());
}
std::chrono::sys_seconds time_of(const ASN1_TIME* time);
// The names as ALPN sends them (RFC 7301 3.1). False: kBadApplication.
inline constexpr const char* kBadApplication =
    "applications: each name (ALPN) must have 1 to 255 bytes, and the whole list at most 65535";
bool alpn_list(const std::vector<std::string>& applications, std::string& list);
// Where the secrets of connections go that somebody wants to look into (SSLKEYLOGFILE): appended, for its owner alone.
// An empty path: nowhere.
TlsResult<Fd> open_key_log(const std::string& path);
// Lines of several threads and processes do not mix. One that the disk has no room for is lost.
void write_key_line(const Fd& file, std::string line);

}  // namespace peal::detail
