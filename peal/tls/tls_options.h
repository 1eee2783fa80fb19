// SPDX-License-Identifier: BSD-3-Clause
// What both sides of TLS are told: where certificates and keys are, and what went wrong with them as a sentence.
//
// PEM is read from a file, or is the text itself; of each pair at most one is given. Files are read when a context is
// made, and again by reload().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <peal/base/clock.h>

namespace peal {

// Or the sentence that says which file is no good, and why.
template <class T>
using TlsResult = std::expected<T, std::string>;

// A certificate chain with its key. The chain begins with the certificate itself; each next one has signed the one
// before it (RFC 8446 4.4.2). The root need not be in it.
struct TlsCertificate {
  std::string chain_file = {}, chain_pem = {};
  std::string key_file = {}, key_pem = {};  // not encrypted
  std::string ocsp_file = {};               // a DER OCSP response to staple (RFC 6066 8); empty: none
};

// Certificates that are believed, roots or not.
struct TlsTrust {
  std::string file = {}, pem = {};
};

// Of the user's own clock: seconds since 1970. What certificates and tickets are compared with.
using TlsClock = std::chrono::sys_seconds (*)();

// The limits of handshakes and of what they bring, on both sides.
struct TlsLimits {
  // Of one loop and turn: so many messages of handshakes are worked on, the others wait for the next turn, so that a
  // thousand newcomers do not hold up who is connected. A full handshake is about 0.7 ms. 0 counts as 1.
  uint32_t handshake_steps = 1;
  uint32_t most_chain_bytes = 100 * 1024;  // of what the peer sends as its certificates
  // Received in a row without a byte for the user (key updates, empty records, tickets): more ends the connection.
  uint32_t most_idle_bytes = 32 * 1024;
  // A session is resumed for so long after the peer last proved who it is by a full handshake, however many tickets
  // there were in between (RFC 8446 4.6.1), and never once a certificate that was verified then has expired. By the
  // user's clock; one that was put back to before that handshake ends the session, too. 0: none is resumed.
  Duration most_session_age = std::chrono::hours(24);
};

}  // namespace peal
