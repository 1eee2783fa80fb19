// SPDX-License-Identifier: BSD-3-Clause
// What the OpenSSL under peal/tls offers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/doctor/doctor_rules.h>
#include <cli/doctor/openssl_facts.h>

namespace peal::cli {
namespace {

Judged library(const TlsFacts& tls) {
  return {.value = tls.version, .here = fmt::format("Limits nothing. Loaded: {}.", fmt::join(tls.providers, ", "))};
}

Judged newest_version(const TlsFacts& tls) {
  if (tls.tls13) return {.value = "yes", .here = "Limits nothing."};
  return {.value = "no",
          .here = "Handshakes take two round trips, and clients that insist on 1.3 are turned away.",
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
          .here = fmt::format("AES-GCM takes many times the CPU, of server and generator alike ({}).",
                              tls.processor.empty() ? "OpenSSL names no CPU" : tls.processor),
          .health = Health::kLimits,
          .mend = "none here: unset OPENSSL_ia32cap, or let the host pass AES-NI on (KVM: -cpu host)"};
}

Judged roots(const TlsFacts& tls) {
  const std::string there = roots_there(tls);
  if (!there.empty()) return {.value = there, .here = "Limits nothing."};
  return {.value = "none",
          .here = "No public server can be verified: every client needs roots of its own (--tls-ca).",
          .health = Health::kLimits,
          .mend = "sudo apt-get install ca-certificates"};
}

template <Judged (*judge)(const TlsFacts&)>
Judged if_asked(const Machine& machine) {
  if (!machine.tls.version.empty()) return judge(machine.tls);
  return {.value = "?", .here = "OpenSSL did not say.", .health = Health::kUnknown};
}

constexpr Rule kTlsRules[] = {
    {"OpenSSL", "The library that does TLS's cryptography, and its providers.", if_asked<library>},
    {"TLS 1.3", "The newest version (RFC 8446): a handshake is one round trip.", if_asked<newest_version>},
    {"AES in hardware", "Whether OpenSSL uses the CPU's own instructions for AES-GCM.", if_asked<acceleration>},
    {"system roots", "The certificates that a client believes unless it is told others.", if_asked<roots>},
};

}  // namespace

Findings examine_tls(const Machine& machine) { return findings_of(kTlsRules, "TLS", machine); }

}  // namespace peal::cli
