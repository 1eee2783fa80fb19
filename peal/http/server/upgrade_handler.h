// SPDX-License-Identifier: BSD-3-Clause
// UpgradeHandler: another protocol on a connection that began as HTTP (RFC 9110 7.8), such as WebSocket or a tunnel.
// HttpExchange::upgrade() gives the connection to it. From then on the connection's callbacks call its functions.
#pragma once

#include <peal/base/memory/buffer.h>
#include <peal/net/connection.h>

namespace peal {

// UpgradeHandler: receives the data of a connection after HttpExchange::upgrade(). The connection owns the handler and
// destroys it when the connection ends. All functions are called on the connection's loop. An exception that leaves one
// of them closes the connection.
class UpgradeHandler {
 public:
  UpgradeHandler() = default;
  UpgradeHandler(const UpgradeHandler&) = delete;
  UpgradeHandler& operator=(const UpgradeHandler&) = delete;
  virtual ~UpgradeHandler() = default;

  // Called once, inside HttpExchange::upgrade(), after the head of the answer was queued.
  virtual void on_start(Connection& connection) { (void)connection; }

  // Called when data has arrived. Bytes that the handler leaves in `input` are passed again with the next data (see
  // ConnectionCallbacks::on_message). The first data may be bytes that the client sent directly after the head of its
  // request. on_data() is never called inside HttpExchange::upgrade().
  virtual void on_data(Connection& connection, Buffer& input) = 0;

  // Called after send() has returned false, when the output has drained to half of the high-water mark or when sending
  // has failed. Also called after report_drained(). See ConnectionCallbacks::on_writable.
  virtual void on_writable(Connection& connection) { (void)connection; }

  // Called when the peer has ended its sending (FIN). The connection stays open for sending until close(). The default
  // implementation closes the connection.
  virtual void on_peer_end(Connection& connection) { connection.close(); }

  // Called when the server drains. The handler must close the connection when its work in progress is done. The default
  // implementation closes the connection at once.
  virtual void on_drain(Connection& connection) { connection.close(); }

  // Called when the connection has closed, after all other functions. Not called if the server itself is destroyed.
  virtual void on_close(Connection& connection, CloseReason reason) {
    (void)connection;
    (void)reason;
  }
};

}  // namespace peal
