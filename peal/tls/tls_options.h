// SPDX-License-Identifier: BSD-3-Clause
// Options that TlsServerContext and TlsClientContext have in common: certificates, keys, limits and a clock.
//
// Certificates and keys are in PEM format. Each is given as the path of a file, or as the text itself, never as both.
// Files are read when a context is made, and again by reload().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <peal/base/clock.h>

namespace peal {

// A value, or a sentence that says which file or option is wrong and why.
template <class T>
using TlsResult = std::expected<T, std::string>;

// A certificate chain with its private key. The chain begins with the certificate itself. Each further certificate has
// signed the one before it (RFC 8446 4.4.2). The root may be left out.
struct TlsCertificate {
  std::string chain_file = {}, chain_pem = {};
  std::string key_file = {}, key_pem = {};  // The private key, which must not be encrypted.
  std::string ocsp_file = {};  // File with an OCSP response in DER that is stapled (RFC 6066 8). Empty: none is.
};

// Certificates that are trusted to sign other certificates. These certificates need not be roots.
struct TlsTrust {
  std::string file = {}, pem = {};
};

// A function that returns the current time. The context compares certificates and tickets with it. A test can set a
// function of its own. If the function is null, the context uses the system clock.
using TlsClock = std::chrono::sys_seconds (*)();

// Limits on handshakes and on what the peer sends, for both sides.
struct TlsLimits {
  // The largest number of handshake messages that each server or client works on in one turn of a loop. Further
  // handshakes wait for the next turn, so that a thousand new connections do not delay the open ones. A full handshake
  // takes about 0.7 ms. 0 counts as 1.
  uint32_t handshake_steps = 1;
  uint32_t most_chain_bytes = 100 * 1024;  // The largest number of bytes of certificates that the peer may send.
  // The largest number of bytes that the peer may send in a row without application data, as key updates, empty records
  // or tickets. The same number limits how many bytes this side answers to such messages while the peer reads no
  // answers. The connection ends if either limit is exceeded.
  uint32_t most_idle_bytes = 32 * 1024;
  // Time for which a session may be resumed after the last full handshake. Resumptions do not extend it, however many
  // tickets they bring (RFC 8446 4.6.1). A session also ends
  // - when any certificate of the chain that was verified in that handshake expires, or
  // - when the clock is set back to a time before that handshake.
  // The time is measured by the context's clock. 0: no session is resumed.
  Duration most_session_age = std::chrono::hours(24);
};

}  // namespace peal
