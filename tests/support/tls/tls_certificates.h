// SPDX-License-Identifier: BSD-3-Clause
// A small certificate authority for tests: roots, intermediates, certificates for all that a test wants, and OCSP
// responses about them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <openssl/x509.h>

#include <peal/tls/self_signed.h>

namespace peal::test {

struct Wanted {
  std::vector<std::string> names = {"example.org"};  // hosts and addresses; none: no alternative name at all
  std::string common_name = "a test's";
  int rsa_bits = 0;                                                                     // 0: ECDSA, P-256
  std::chrono::seconds begins = -std::chrono::hours(1), ends = std::chrono::hours(24);  // from now
  std::string usage = "serverAuth,clientAuth";
};

struct WantedResponse {
  bool is_good = true;
  std::chrono::seconds begins = -std::chrono::hours(1), ends = std::chrono::hours(24);  // from now
  bool sha256 = false;                                                                  // how the certificate is named
};

class TestAuthority {
 public:
  // A root.
  explicit TestAuthority(const std::string& name, std::chrono::seconds ends = std::chrono::hours(240));
  TestAuthority intermediate(const std::string& name, std::chrono::seconds ends = std::chrono::hours(240)) const;

  // The chain without its root.
  SelfSigned issue(const Wanted& wanted = {}) const;
  const std::string& pem() const { return pem_; }
  // An OCSP response, DER.
  std::string response(const std::string& chain_pem, const WantedResponse& wanted = {}) const;

 private:
  TestAuthority() = default;

  std::string pem_, above_;  // its own certificate; those between it and the root, its own among them
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

// A clock that is so many hours ahead of the machine's.
template <int kHours>
std::chrono::sys_seconds clock_ahead() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + std::chrono::hours(kHours));
}

// The key, encrypted with a password.
std::string encrypted(const std::string& key_pem);
// What RFC 7469 2.4 calls a pin, of the first certificate.
std::string pin_of_first(const std::string& chain_pem);
// The certificate's own text, of a chain.
std::string nth_certificate(const std::string& chain_pem, size_t index);

}  // namespace peal::test
