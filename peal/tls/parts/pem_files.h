// SPDX-License-Identifier: BSD-3-Clause
// PemFiles: reads certificates, keys, trusted roots and OCSP responses from files or from text. If something is wrong,
// error() is a sentence that names the file. PemFiles remembers the files it has read and can say whether one has
// changed since. May be used by one thread at a time.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/tls/parts/ssl_settings.h>

namespace peal::detail {

// A certificate chain with its private key and, optionally, an OCSP response to staple.
struct CertifiedKey {
  std::string name;            // Path of the chain's file, or words for a text. Used in error texts.
  std::vector<X509Ptr> chain;  // The certificate itself comes first.
  KeyPtr key;
  std::string staple;  // An OCSP response (RFC 6960) in DER; empty: none.

  // `staple_until`: the time when the staple expires. `until`: the time when the first certificate of the chain
  // expires.
  std::chrono::sys_seconds staple_until, until = std::chrono::sys_seconds::max();
};

class PemFiles {
 public:
  // These functions read into their last parameter. If one fails, it returns false and error() says what is wrong. Each
  // certificate and OCSP response must be valid at `now`.
  bool read(const std::string& path, std::string& bytes);
  bool read_certificate(const TlsCertificate& from, std::chrono::sys_seconds now, CertifiedKey& to);
  bool read_roots(const TlsTrust& from, std::vector<X509Ptr>& to);

  // Sets error() to `sentence` and returns false.
  bool fail(std::string sentence) {
    error_ = std::move(sentence);
    return false;
  }

  const std::string& error() const { return error_; }

  // Returns whether a file differs from the one that was read, or exists now and could not be read then.
  bool have_changed() const;

 private:
  // A PEM text, and the name by which error texts call it.
  struct Text {
    std::string name, bytes;
  };
  // Reads the text from `file` or takes it from `pem`. Fails unless exactly one of them is given. `what` is the name of
  // the thing in the error text: "key".
  bool read_text(const std::string& file, const std::string& pem, std::string_view what, Text& to);
  bool read_certificates(const Text& from, std::vector<X509Ptr>& to);
  bool read_key(Text from, CertifiedKey& to);
  // Checks that each certificate has signed the one before it and is valid at `now`. Sets of.until.
  bool check_chain(std::chrono::sys_seconds now, CertifiedKey& of);
  // Reads an OCSP response. Checks that it says that the chain's first certificate is good and that it is valid at
  // `now`. The signature is not verified; clients do that.
  bool read_staple(const std::string& path, std::chrono::sys_seconds now, CertifiedKey& to);

  // Paths of all files that were read, each with the file's modification time, size and inode number at that time. The
  // numbers are 0 if the file could not be read.
  std::vector<std::pair<std::string, std::array<int64_t, 4>>> seen_;
  std::string error_;
};

// Adds `certificate` to those that `ctx` shows its peers. It replaces one with the same kind of key. Returns false if
// OpenSSL refuses it.
bool use_certificate(SSL_CTX* ctx, const CertifiedKey& certificate);

// Makes `ctx` trust `roots` to sign the peer's certificate, even if they are no roots. Returns false if OpenSSL fails.
bool use_roots(SSL_CTX* ctx, const std::vector<X509Ptr>& roots);

// Returns the hosts that a certificate is for, from its subjectAltName (RFC 5280 4.2.1.6). A name is in the form of
// host_key(). An IP address is '[' followed by its 4 or 16 bytes.
std::vector<std::string> hosts_of(const X509* certificate);

// Returns a host name in the form in which names are compared: in lower case, without a dot at the end.
std::string host_key(std::string_view host);

}  // namespace peal::detail
