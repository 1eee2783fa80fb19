// SPDX-License-Identifier: BSD-3-Clause
// Makes a certificate that is signed with its own key, for tests and for trying TLS. A peer accepts the certificate
// only if it is given to that peer as a trusted one (TlsTrust).
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <peal/tls/tls_options.h>

namespace peal {

enum class TlsKeyKind : uint8_t { kEcdsaP256, kRsa2048 };

struct SelfSignedOptions {
  std::vector<std::string> names = {};  // Host names, "*.example.org" and IP addresses. At least one is needed.
  TlsKeyKind key = TlsKeyKind::kEcdsaP256;
  std::chrono::days valid = std::chrono::days(90);  // Validity from now on. The certificate begins one hour earlier.
};

struct SelfSigned {
  std::string chain_pem = {};
  std::string key_pem = {};
};

// Makes a new key and its certificate. Returns a sentence instead if a name is neither a host name nor an address, or
// if OpenSSL fails. May be called on any thread.
TlsResult<SelfSigned> make_self_signed(const SelfSignedOptions& options);

}  // namespace peal
