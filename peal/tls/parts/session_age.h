// SPDX-License-Identifier: BSD-3-Clause
// Limits the age of sessions. A resumption verifies no certificate and brings a new ticket, so a chain of resumptions
// would never end (RFC 8446 4.6.1). A session therefore carries two times in its application data:
// - the time of the last full handshake, and
// - the earliest expiry of all certificates in the chain that was verified in that handshake.
// A server's tickets contain both times, encrypted; a client keeps both times in its cache. All functions may be called
// on any thread.
#pragma once

#include <peal/tls/parts/ssl_settings.h>

namespace peal::detail {

// Stores two times in `session` after a full handshake of `ssl`:
//   - `now`, when the peer proved its identity;
//   - the earliest expiry of all certificates in the peer's verified chain, or sys_seconds::max() if the peer showed
//     none.
// After a resumption nothing is stored, because OpenSSL has copied both times from the resumed session. Returns false
// if OpenSSL has no memory.
bool store_handshake_times(const SSL* ssl, SSL_SESSION* session, std::chrono::sys_seconds now);

// Returns whether `session` may be resumed at `now`. Returns false if
// - the full handshake that made the session was `most_age` ago or longer,
// - a certificate of the chain that was verified in that handshake has expired,
// - the clock was set back to a time before that handshake, or
// - store_handshake_times() has written no times into the session.
bool may_be_resumed(SSL_SESSION* session, std::chrono::sys_seconds now, Duration most_age);

}  // namespace peal::detail
