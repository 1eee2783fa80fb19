// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/tls_error.h>

#include <cerrno>
#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <peal/base/result.h>

namespace peal::detail {
namespace {

// Error values begin at kAlerts for alerts, at kVerdicts for X509_V_ERR_ constants and at kReasons for OpenSSL's
// reasons. kMostReasons is the number of values for reasons. All values must be below 0x4000 (StreamPort::errors()).
constexpr int kAlerts = 0x100;
constexpr int kVerdicts = 0x1000;
constexpr int kReasons = 0x2000;
constexpr int kMostReasons = 0x1000;

class TlsCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }

  std::string message(int value) const override {
    if (value >= kReasons) {
      const char* reason = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, value - kReasons));
      return std::string("TLS failed: ") + (reason == nullptr ? std::to_string(value - kReasons).c_str() : reason);
    }
    if (value >= kVerdicts) {
      return std::string("the peer's certificate is not accepted: ") + X509_verify_cert_error_string(value - kVerdicts);
    }
    if (value >= kAlerts) {
      const int code = value - kAlerts;
      // OpenSSL 3.0 has no text for this alert.
      const char* words =
          code == SSL_AD_CERTIFICATE_REQUIRED ? "certificate required" : SSL_alert_desc_string_long(code);
      return std::string("the peer's alert: ") + words + " (" + std::to_string(code) + ")";
    }
    switch (static_cast<TlsTrouble>(value)) {
      case TlsTrouble::kNotTls: return "the peer does not speak TLS";
      case TlsTrouble::kFlood: return "the peer sent too many bytes in a row without application data";
      case TlsTrouble::kNobodyToVerify:
        return "the name or address of the server is missing or invalid, so that its certificate cannot be verified";
    }
    return "unknown TLS error " + std::to_string(value);
  }
};

}  // namespace

const std::error_category& tls_category() noexcept {
  static const TlsCategory category;
  return category;
}

std::error_code tls_error(TlsTrouble trouble) { return {static_cast<int>(trouble), tls_category()}; }
std::error_code tls_alert(int alert) { return {kAlerts + alert, tls_category()}; }
std::error_code tls_verify_error(long verdict) { return {kVerdicts + static_cast<int>(verdict), tls_category()}; }

std::error_code take_tls_error(long verdict) {
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  const int reason = ERR_GET_REASON(last);
  if (ERR_GET_LIB(last) != ERR_LIB_SSL) return errno_code(EPROTO);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) return tls_verify_error(verdict);
  if (reason >= SSL_AD_REASON_OFFSET) return tls_alert(reason - SSL_AD_REASON_OFFSET);
  return {kReasons + reason % kMostReasons, tls_category()};
}

}  // namespace peal::detail
