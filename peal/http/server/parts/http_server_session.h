// SPDX-License-Identifier: BSD-3-Clause
// HttpServerSession: a connection that speaks HTTP, of any version. It is the context of the connection, which owns it.
// It has as many exchanges at a time as its version allows. Only the connection's loop uses it.
#pragma once

#include <cstdint>

#include <peal/base/memory/buffer.h>
#include <peal/http/server/parts/http_waits.h>
#include <peal/net/connection.h>

namespace peal::detail {

class HttpCarrier;

class HttpServerSession : public HttpWaiter {
 public:
  HttpServerSession() = default;
  HttpServerSession(const HttpServerSession&) = delete;
  HttpServerSession& operator=(const HttpServerSession&) = delete;
  virtual ~HttpServerSession() = default;

  // The following functions are called by the callbacks of the connection.
  virtual void received(Buffer& input) = 0;
  virtual void writable() = 0;
  virtual void peer_ended() = 0;
  virtual void drain() = 0;
  virtual void closed(CloseReason reason) = 0;

  // Returns the carrier of the exchange with the number `serial`, or null if that exchange has ended.
  virtual HttpCarrier* carrier_of(uint64_t serial) = 0;

  // True if drain() was called on this session.
  virtual bool drains() const { return false; }
};

}  // namespace peal::detail
