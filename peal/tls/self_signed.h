// SPDX-License-Identifier: BSD-3-Clause
// A certificate that its own key has signed, for trying TLS and for tests: nobody believes it but who is told to.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <peal/tls/tls_options.h>

namespace peal {

enum class TlsKeyKind : uint8_t { kEcdsaP256, kRsa2048 };

struct SelfSignedOptions {
  std::vector<std::string> names = {};  // host names, "*.example.org", and addresses; at least one
  TlsKeyKind key = TlsKeyKind::kEcdsaP256;
  std::chrono::days valid = std::chrono::days(90);  // from an hour ago on
};

struct SelfSigned {
  std::string chain_pem = {};
  std::string key_pem = {};
};

// Any thread. The sentence says what is wrong with the names.
TlsResult<SelfSigned> make_self_signed(const SelfSignedOptions& options);

}  // namespace peal
