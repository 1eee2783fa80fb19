// SPDX-License-Identifier: BSD-3-Clause
// Error codes of TLS failures. Their category is the layer's StreamPort::errors(). Most of their messages come from
// OpenSSL.
#pragma once

#include <system_error>

namespace peal::detail {

const std::error_category& tls_category() noexcept;

enum class TlsTrouble : int {
  kNotTls = 1,      // The peer's first byte does not begin a TLS record.
  kFlood,           // The peer exceeded TlsLimits::most_idle_bytes.
  kNobodyToVerify,  // TlsSide::make_ssl() failed, mostly because a client has no valid name and no address to verify.
};
std::error_code tls_error(TlsTrouble trouble);

// Returns the error code of a fatal alert that the peer has sent (RFC 8446 6.2).
std::error_code tls_alert(int alert);

// Returns the error code for a peer's certificate that is not accepted. `verdict` is the X509_V_ERR_ constant that says
// why.
std::error_code tls_verify_error(long verdict);

// Empties this thread's OpenSSL error queue and returns its last error as an error code. `verdict` is the connection's
// SSL_get_verify_result(3).
//   - If the peer's certificate could not be verified, returns tls_verify_error(verdict).
//   - If the last error did not come from OpenSSL's SSL library, returns EPROTO.
std::error_code take_tls_error(long verdict);

}  // namespace peal::detail
