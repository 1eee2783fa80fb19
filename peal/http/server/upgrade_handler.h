// SPDX-License-Identifier: BSD-3-Clause
// UpgradeHandler: another protocol on a connection that began as HTTP (RFC 9110 7.8), such as WebSocket or a tunnel.
// HttpExchange::upgrade() gives the connection to it. From then on the connection's callbacks call its functions.
#pragma once

#include <peal/base/memory/buffer.h>
#include <peal/net/connection.h>

namespace peal {

// The connection owns the handler and destroys it at the connection's end. All functions are called on the connection's
// loop. An exception that leaves one closes the connection.
class UpgradeHandler {
 public:
  UpgradeHandler() = default;
  UpgradeHandler(const UpgradeHandler&) = delete;
  UpgradeHandler& operator=(const UpgradeHandler&) = delete;
  virtual ~UpgradeHandler() = default;

  // Called once, inside upgrade(), after the head of the answer was queued.
  virtual void on_start(Connection& connection) { (void)connection; }

  // Called when data has arrived. Bytes left in `input` are passed again with the next data, as by
  // ConnectionCallbacks::on_message. The first data may be what the client sent after the head of its request. It is
  // never called inside upgrade().
  virtual void on_data(Connection& connection, Buffer& input) = 0;

  // Called after send() has returned false, when the output has drained to half of the high-water mark or has failed.
  // Also called after report_drained(). See ConnectionCallbacks::on_writable.
  virtual void on_writable(Connection& connection) { (void)connection; }

  // Called when the peer has ended its sending. The connection stays open for sending until close(). The default closes
  // it.
  virtual void on_peer_end(Connection& connection) { connection.close(); }

  // Called when the server drains. The handler must close the connection when its work in progress is done. The default
  // closes it at once.
  virtual void on_drain(Connection& connection) { connection.close(); }

  // Called when the connection has closed, after all other functions. Not called if the server itself is destroyed.
  virtual void on_close(Connection& connection, CloseReason reason) {
    (void)connection;
    (void)reason;
  }
};

}  // namespace peal
