// SPDX-License-Identifier: BSD-3-Clause
// HttpServerSession: a connection that speaks HTTP, of whatever version. It is the connection's context, belongs to its
// loop, and has as many exchanges at a time as its version allows.
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

  // What the connection's callbacks are.
  virtual void received(Buffer& input) = 0;
  virtual void writable() = 0;
  virtual void peer_ended() = 0;
  virtual void drain() = 0;
  virtual void closed(CloseReason reason) = 0;
  // What carries the exchange of that number; null: it is over.
  virtual HttpCarrier* carrier_of(uint64_t serial) = 0;
  // drain() has been called.
  virtual bool drains() const { return false; }
};

}  // namespace peal::detail
