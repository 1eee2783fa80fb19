// SPDX-License-Identifier: BSD-3-Clause
// Rules about the OpenSSL library that peal/tls uses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/doctor/doctor_rules.h>
#include <cli/doctor/openssl_facts.h>

namespace peal::cli {
namespace {

Judged library(const TlsFacts& tls) {
  return {.value = tls.version,
          .here = fmt::format("Limits nothing. Loaded providers: {}.", fmt::join(tls.providers, ", "))};
}

Judged newest_version(const TlsFacts& tls) {
  if (tls.tls13) return {.value = "yes", .here = "Limits nothing."};
  return {.value = "no",
          .here = "Handshakes take two round trips, and clients that require TLS 1.3 are refused.",
          .health = Health::kLimits,
          .mend = "grep -nE 'MaxProtocol|Ciphersuites' \"$(openssl version -d | cut -d'\"' -f2)/openssl.cnf\""};
}

Judged acceleration(const TlsFacts& tls) {
  const AesInstructions has = aes_instructions(tls.processor, tls.version);
  if (has.aes) {
    return {.value = has.wide_used ? "yes, VAES too" : "yes",
            .here = has.wide_aes && !has.wide_used
                        ? "Limits nothing here. The CPU has VAES too, which OpenSSL uses from 3.1 on."
                        : "Limits nothing."};
  }
  return {.value = "no",
          .here = fmt::format("AES-GCM needs many times the CPU time, in the server and in the generator ({}).",
                              tls.processor.empty() ? "OpenSSL does not describe the CPU" : tls.processor),
          .health = Health::kLimits,
          .mend = "none here: unset OPENSSL_ia32cap, or let the host allow AES-NI (KVM: -cpu host)"};
}

Judged roots(const TlsFacts& tls) {
  const std::string there = roots_there(tls);
  if (!there.empty()) return {.value = there, .here = "Limits nothing."};
  return {.value = "none",
          .here = "No public server can be verified: every client needs a file of root certificates (--tls-ca).",
          .health = Health::kLimits,
          .mend = "sudo apt-get install ca-certificates"};
}

template <Judged (*judge)(const TlsFacts&)>
Judged if_asked(const Machine& machine) {
  if (!machine.tls.version.empty()) return judge(machine.tls);
  return {.value = "?", .here = "OpenSSL does not tell its version.", .health = Health::kUnknown};
}

constexpr Rule kTlsRules[] = {
    {"OpenSSL", "The library that does the cryptography of TLS, and its providers.", if_asked<library>},
    {"TLS 1.3", "The newest version of TLS (RFC 8446). Its handshake takes one round trip.", if_asked<newest_version>},
    {"AES in hardware", "Whether OpenSSL uses the CPU's own instructions for AES-GCM.", if_asked<acceleration>},
    {"system roots", "The root certificates that a client trusts by default.", if_asked<roots>},
};

}  // namespace

Findings examine_tls(const Machine& machine) { return findings_of(kTlsRules, "TLS", machine); }

}  // namespace peal::cli
