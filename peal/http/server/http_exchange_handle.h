// SPDX-License-Identifier: BSD-3-Clause
// HttpExchangeHandle: small, copyable; any thread, at any time, however late: then it does nothing. What answers
// asynchronously goes through it:
//
//   loop.after(seconds(1), [handle = exchange.handle()] { handle.respond(200, "text/plain", "here you are"); });
//   handle.run([](peal::HttpExchange& exchange) { exchange.begin(200); exchange.write("a first piece"); });
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <peal/base/callback.h>
#include <peal/net/connection.h>

namespace peal {

class HttpExchange;

using HttpCallback = Callback<void(HttpExchange&)>;

class HttpExchangeHandle {
 public:
  HttpExchangeHandle() = default;
  // Calls `task` with the exchange on its loop, if it is still there then and its answer not complete. Exceptions are
  // a handler's. Taken or not as a send of ConnectionHandle: refused, the connection ends, for its client would wait.
  bool run(HttpCallback task) const;
  bool respond(int status, std::string content_type, std::string body) const;

 private:
  friend class HttpExchange;
  HttpExchangeHandle(ConnectionHandle connection, uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}

  ConnectionHandle connection_;
  uint64_t serial_ = 0;
};

}  // namespace peal
