// SPDX-License-Identifier: BSD-3-Clause
// HttpExchangeHandle: answers an exchange from another thread or from a later callback. A handle is small and may be
// copied. It may be used by any thread at any time. If the exchange has ended, the functions do nothing.
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
  // Calls `task` with the exchange on the loop of the exchange. If by then the exchange has ended or its answer is
  // complete, `task` is not called. An exception that leaves `task` is handled like an exception of a handler. Returns
  // false if the loop does not accept the task: see ConnectionHandle::send(). The connection then ends, because its
  // client would otherwise wait in vain.
  bool run(HttpCallback task) const;

  // Sends a whole answer, as HttpExchange::respond() does, unless an answer has begun. Returns the result of run().
  bool respond(int status, std::string content_type, std::string body) const;

 private:
  friend class HttpExchange;
  HttpExchangeHandle(ConnectionHandle connection, uint64_t serial)
      : connection_(std::move(connection)), serial_(serial) {}

  ConnectionHandle connection_;
  uint64_t serial_ = 0;
};

}  // namespace peal
