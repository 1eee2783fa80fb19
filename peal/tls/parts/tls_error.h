// SPDX-License-Identifier: BSD-3-Clause
// What TLS fails with, as error codes: StreamPort::errors() of the layer. Their sentences are OpenSSL's.
#pragma once

#include <system_error>

namespace peal::detail {

const std::error_category& tls_category() noexcept;

enum class TlsTrouble : int {
  kNotTls = 1,      // the peer speaks in the clear
  kFlood,           // TlsLimits::most_idle_bytes
  kNobodyToVerify,  // a client that knows neither a name nor an address
};
std::error_code tls_error(TlsTrouble trouble);
// A fatal alert that the peer has sent (RFC 8446 6.2).
std::error_code tls_alert(int alert);
// X509_V_ERR_...: the peer's certificate is not accepted.
std::error_code tls_verify_error(long verdict);
// What OpenSSL has put into its queue of errors last, which is emptied. `verdict` is what it made of the peer's
// certificate, for when that is why.
std::error_code take_tls_error(long verdict);

}  // namespace peal::detail
