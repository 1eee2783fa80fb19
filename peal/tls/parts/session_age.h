// SPDX-License-Identifier: BSD-3-Clause
// For how long a session may go on. Nothing is verified when it does, and each resumption brings the next ticket, so a
// chain of them has no end of its own (RFC 8446 4.6.1). A session therefore carries two times in its application data:
// when the peer last proved who it is, and when the first of the certificates ends that it proved it with. They are
// sealed in a server's tickets, and stay in a client's cache. Any thread.
#pragma once

#include <peal/tls/parts/ssl_settings.h>

namespace peal::detail {

// Writes both times into `session` after a full handshake of `ssl`. After a resumption nothing is written: OpenSSL has
// copied them from the session that went on. False: no memory.
bool store_handshake_times(const SSL* ssl, SSL_SESSION* session, std::chrono::sys_seconds now);
// False as well where the times are missing, and where the clock was put back to before the full handshake.
bool may_be_resumed(SSL_SESSION* session, std::chrono::sys_seconds now, Duration most_age);

}  // namespace peal::detail
