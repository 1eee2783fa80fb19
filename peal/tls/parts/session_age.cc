// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/parts/session_age.h>

#include <algorithm>
#include <cstring>

namespace peal::detail {
namespace {

// The application data of a session.
// - proved: the time of the last full handshake.
// - valid_until: the earliest expiry of all certificates in the chain that was verified in that handshake.
struct SessionTimes {
  std::chrono::sys_seconds proved = {}, valid_until = std::chrono::sys_seconds::max();
};

}  // namespace

bool store_handshake_times(const SSL* ssl, SSL_SESSION* session, std::chrono::sys_seconds now) {
  if (SSL_session_reused(ssl) == 1) return true;
  SessionTimes times{.proved = now};
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);  // Null if the peer showed no certificate.
  for (int index = 0; index < sk_X509_num(chain); ++index) {
    times.valid_until = std::min(times.valid_until, time_of(X509_get0_notAfter(sk_X509_value(chain, index))));
  }
  return SSL_SESSION_set1_ticket_appdata(session, &times, sizeof(times)) == 1;
}

bool may_be_resumed(SSL_SESSION* session, std::chrono::sys_seconds now, Duration most_age) {
  void* data = nullptr;
  size_t bytes = 0;
  SessionTimes times;
  if (SSL_SESSION_get0_ticket_appdata(session, &data, &bytes) != 1 || bytes != sizeof(times)) return false;
  std::memcpy(&times, data, sizeof(times));
  return now >= times.proved && now < times.valid_until && now - times.proved < most_age;
}

}  // namespace peal::detail
