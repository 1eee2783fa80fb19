// SPDX-License-Identifier: BSD-3-Clause
// TestAuthority: a small certificate authority for tests. It makes roots, intermediates, certificates of any kind and
// OCSP responses about them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <openssl/x509.h>

#include <peal/tls/self_signed.h>

namespace peal::test {

struct Wanted {
  std::vector<std::string> names = {"example.org"};  // hosts and addresses; if empty, there is no alternative name
  std::string common_name = "a test's";
  int rsa_bits = 0;                                                                     // 0 means an ECDSA key on P-256
  std::chrono::seconds begins = -std::chrono::hours(1), ends = std::chrono::hours(24);  // relative to now
  std::string usage = "serverAuth,clientAuth";
};

struct WantedResponse {
  bool is_good = true;
  std::chrono::seconds begins = -std::chrono::hours(1), ends = std::chrono::hours(24);  // relative to now
  bool sha256 = false;  // the response names the certificate by SHA-256, not SHA-1
};

class TestAuthority {
 public:
  // Makes a root authority, which signs its own certificate.
  explicit TestAuthority(const std::string& name, std::chrono::seconds ends = std::chrono::hours(240));
  TestAuthority intermediate(const std::string& name, std::chrono::seconds ends = std::chrono::hours(240)) const;

  // Returns a new certificate with its chain, and its key. The chain does not contain the root's certificate.
  SelfSigned issue(const Wanted& wanted = {}) const;
  const std::string& pem() const { return pem_; }
  // Returns an OCSP response, encoded as DER, about the first certificate of `chain_pem`.
  std::string response(const std::string& chain_pem, const WantedResponse& wanted = {}) const;

 private:
  TestAuthority() = default;

  // `pem_` is the certificate of this authority. `above_` is the rest of the chain of each certificate that this
  // authority issues. `above_` contains the certificate of this authority and the certificates of the authorities above
  // it, without the root's. For a root authority, `above_` is empty.
  std::string pem_, above_;
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

// Returns the time of the machine's clock plus `kHours` hours.
template <int kHours>
std::chrono::sys_seconds clock_ahead() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() + std::chrono::hours(kHours));
}

// Returns the private key, encrypted with the password "secret".
std::string encrypted(const std::string& key_pem);
// Returns the pin of the chain's first certificate: the hash of its public key in base64 (RFC 7469 2.4).
std::string pin_of_first(const std::string& chain_pem);
// Returns one certificate of the chain. The first certificate has the index 0.
std::string nth_certificate(const std::string& chain_pem, size_t index);

}  // namespace peal::test
