// SPDX-License-Identifier: BSD-3-Clause
// PemFiles: certificates, keys and what belongs to them, read from files or from text. What is wrong with one is a
// sentence that names the file; and whether a file has changed since is known. One thread at a time.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include <peal/tls/parts/ssl_settings.h>

namespace peal::detail {

// A certificate with its chain behind it, its key, and a staple or none.
struct CertifiedKey {
  std::string name;  // of the chain, in sentences
  std::vector<X509Ptr> chain;
  KeyPtr key;
  std::string staple;                                                              // an OCSP response (RFC 6960), DER
  std::chrono::sys_seconds staple_until, until = std::chrono::sys_seconds::max();  // the first of the chain ends then
};

class PemFiles {
 public:
  // Each returns false when it has said in error() what is wrong.
  bool read(const std::string& path, std::string& bytes);
  bool read_certificate(const TlsCertificate& from, std::chrono::sys_seconds now, CertifiedKey& to);
  bool read_roots(const TlsTrust& from, std::vector<X509Ptr>& to);
  // Says so, and is false.
  bool fail(std::string sentence) {
    error_ = std::move(sentence);
    return false;
  }

  const std::string& error() const { return error_; }
  // A file that was read is another one now, or could not be read and is there now.
  bool have_changed() const;

 private:
  struct Text {
    std::string name, bytes;
  };
  bool read_text(const std::string& file, const std::string& pem, std::string_view what, Text& to);
  bool read_certificates(const Text& from, std::vector<X509Ptr>& to);
  bool read_key(Text from, CertifiedKey& to);
  bool check_chain(std::chrono::sys_seconds now, CertifiedKey& of);
  bool read_staple(const std::string& path, std::chrono::sys_seconds now, CertifiedKey& to);

  std::vector<std::pair<std::string, std::array<int64_t, 4>>> seen_;  // files, each as it was
  std::string error_;
};

// That one is what `ctx` proves itself with, beside others of other kinds of key; that those are whom it believes.
bool use_certificate(SSL_CTX* ctx, const CertifiedKey& certificate);
bool use_roots(SSL_CTX* ctx, const std::vector<X509Ptr>& roots);
// The hosts that a certificate is for (RFC 5280 4.2.1.6), as host_key() has them; an address is '[' and its bytes.
std::vector<std::string> hosts_of(const X509* certificate);
// As host names are compared: in small letters, without the dot at the end.
std::string host_key(std::string_view host);

}  // namespace peal::detail
