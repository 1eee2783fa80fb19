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
  std::string name;            // How error texts call the chain: by the path of its file, or as a given text.
  std::vector<X509Ptr> chain;  // The certificate itself comes first.
  KeyPtr key;
  std::string staple;  // An OCSP response (RFC 6960) in DER; empty: none.

  // `staple_until` is the time when the OCSP response in `staple` expires. `until` is the earliest expiry of all
  // certificates in `chain`.
  std::chrono::sys_seconds staple_until, until = std::chrono::sys_seconds::max();
};

class PemFiles {
 public:
  // read(), read_certificate() and read_roots() read into their last parameter. If one of them fails, it returns false,
  // and error() says what is wrong. read_certificate() also fails if a certificate of the chain or the OCSP response is
  // not valid at `now`.
  bool read(const std::string& path, std::string& bytes);
  bool read_certificate(const TlsCertificate& from, std::chrono::sys_seconds now, CertifiedKey& to);
  bool read_roots(const TlsTrust& from, std::vector<X509Ptr>& to);

  // Sets error() to `sentence` and returns false.
  bool fail(std::string sentence) {
    error_ = std::move(sentence);
    return false;
  }

  const std::string& error() const { return error_; }

  // Returns whether one of the files has changed since it was read. A file that could not be read then and exists now
  // has changed, too.
  bool have_changed() const;

 private:
  // A PEM text, and the name by which error texts call it.
  struct Text {
    std::string name, bytes;
  };
  // Reads the text from `file` or takes it from `pem`. Fails unless exactly one of `file` and `pem` is given. `what`
  // says in error texts what the text is, for example "key".
  bool read_text(const std::string& file, const std::string& pem, std::string_view what, Text& to);
  bool read_certificates(const Text& from, std::vector<X509Ptr>& to);
  bool read_key(Text from, CertifiedKey& to);
  // Checks that each certificate of the chain has signed the one before it and is valid at `now`. Stores the earliest
  // expiry in the member `until`.
  bool check_chain(std::chrono::sys_seconds now, CertifiedKey& of);
  // Reads an OCSP response. Fails unless the response says that the chain's first certificate is good, and is itself
  // valid at `now`. The signature of the response is not verified here; clients verify it.
  bool read_staple(const std::string& path, std::chrono::sys_seconds now, CertifiedKey& to);

  // Paths of all files that were read, each with the modification time, size and inode number that the file had then.
  // The numbers are 0 if the file could not be read.
  std::vector<std::pair<std::string, std::array<int64_t, 4>>> seen_;
  std::string error_;
};

// Adds `certificate` to the certificates that `ctx` shows its peers. A certificate that `ctx` has already with the same
// kind of key is replaced. Returns false if OpenSSL refuses the certificate.
bool use_certificate(SSL_CTX* ctx, const CertifiedKey& certificate);

// Makes `ctx` trust the certificates in `roots` to sign the peer's certificate, even if they are intermediate
// certificates. Returns false if OpenSSL fails.
bool use_roots(SSL_CTX* ctx, const std::vector<X509Ptr>& roots);

// Returns the hosts that a certificate is for, from its subjectAltName (RFC 5280 4.2.1.6). A name is in the form of
// host_key(). An IP address is '[' followed by its 4 or 16 bytes.
std::vector<std::string> hosts_of(const X509* certificate);

// Returns a host name in the form in which names are compared: in lower case, without a dot at the end.
std::string host_key(std::string_view host);

}  // namespace peal::detail
