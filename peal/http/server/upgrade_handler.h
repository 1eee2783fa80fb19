// SPDX-License-Identifier: BSD-3-Clause
// UpgradeHandler: another protocol on a connection that began as HTTP (RFC 9110 7.8), WebSocket say, or a tunnel.
// HttpExchange::upgrade() hands the connection to one; from then on it is told what the connection's callbacks are.
#pragma once

#include <peal/base/memory/buffer.h>
#include <peal/net/connection.h>

namespace peal {

// Owned by the connection and destroyed after it; on its loop. An exception that leaves a call ends the connection.
class UpgradeHandler {
 public:
  UpgradeHandler() = default;
  UpgradeHandler(const UpgradeHandler&) = delete;
  UpgradeHandler& operator=(const UpgradeHandler&) = delete;
  virtual ~UpgradeHandler() = default;

  // Once, inside upgrade(): the head of the answer is queued.
  virtual void on_start(Connection& connection) { (void)connection; }
  // As ConnectionCallbacks::on_message: what is left in `input` is shown again with what arrives next. What the client
  // sent behind the head of its request comes first, though never inside upgrade().
  virtual void on_data(Connection& connection, Buffer& input) = 0;
  // As on_writable of the connection's callbacks: after send() answered false, or after report_drained().
  virtual void on_writable(Connection& connection) { (void)connection; }
  // The peer sends no more; the connection stays open for sending until close().
  virtual void on_peer_end(Connection& connection) { connection.close(); }
  // The server drains: to be closed when what is under way is done.
  virtual void on_drain(Connection& connection) { connection.close(); }
  // Last of all, but not when the server itself is destroyed.
  virtual void on_close(Connection& connection, CloseReason reason) {
    (void)connection;
    (void)reason;
  }
};

}  // namespace peal
