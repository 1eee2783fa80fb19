// SPDX-License-Identifier: BSD-3-Clause
// What the OpenSSL under peal/tls offers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cli/doctor/doctor_rules.h>
#include <cli/doctor/openssl_facts.h>

namespace peal::cli {
namespace {

// What nobody has asked is not known.
Finding not_asked(Finding found) {
  found.value = "?";
  found.health = Health::kUnknown;
  found.here = "OpenSSL did not say.";
  return found;
}

Finding library(const Machine& machine) {
  Finding found{.name = "OpenSSL", .what = "The library that does TLS's cryptography, and its providers."};
  if (machine.tls.version.empty()) return not_asked(std::move(found));
  found.value = machine.tls.version;
  found.here = fmt::format("Limits nothing. Loaded: {}.", fmt::join(machine.tls.providers, ", "));
  return found;
}

Finding newest_version(const Machine& machine) {
  Finding found{.name = "TLS 1.3", .what = "The newest version (RFC 8446): a handshake is one round trip."};
  if (machine.tls.version.empty()) return not_asked(std::move(found));
  found.value = machine.tls.tls13 ? "yes" : "no";
  found.here = machine.tls.tls13 ? "Limits nothing."
                                 : "Handshakes take two round trips, and clients that insist on 1.3 are turned away.";
  if (machine.tls.tls13) return found;
  found.health = Health::kLimits;
  found.mend = "grep -nE 'MaxProtocol|Ciphersuites' \"$(openssl version -d | cut -d'\"' -f2)/openssl.cnf\"";
  return found;
}

Finding acceleration(const Machine& machine) {
  Finding found{.name = "AES in hardware", .what = "Whether OpenSSL uses the CPU's own instructions for AES-GCM."};
  if (machine.tls.version.empty()) return not_asked(std::move(found));
  const AesInstructions has = aes_instructions(machine.tls.processor, machine.tls.version);
  found.value = !has.aes ? "no" : has.wide_used ? "yes, VAES too" : "yes";
  if (has.aes) {
    found.here = has.wide_aes && !has.wide_used
                     ? "Limits nothing here. The CPU has VAES too, which OpenSSL uses from 3.1 on."
                     : "Limits nothing.";
    return found;
  }
  found.health = Health::kLimits;
  found.here = fmt::format("AES-GCM takes many times the CPU, of server and generator alike ({}).",
                           machine.tls.processor.empty() ? "OpenSSL names no CPU" : machine.tls.processor);
  found.mend = "none here: unset OPENSSL_ia32cap, or let the host pass AES-NI on (KVM: -cpu host)";
  return found;
}

Finding roots(const Machine& machine) {
  Finding found{.name = "system roots", .what = "The certificates that a client believes unless it is told others."};
  if (machine.tls.version.empty()) return not_asked(std::move(found));
  const std::string there = roots_there(machine.tls);
  found.value = there.empty() ? "none" : there;
  found.here = there.empty() ? "No public server can be verified: every client needs roots of its own (--tls-ca)."
                             : "Limits nothing.";
  if (!there.empty()) return found;
  found.health = Health::kLimits;
  found.mend = "sudo apt-get install ca-certificates";
  return found;
}

constexpr Rule kTlsRules[] = {library, newest_version, acceleration, roots};

}  // namespace

Findings examine_tls(const Machine& machine) { return findings_of(kTlsRules, "TLS", machine); }

}  // namespace peal::cli
