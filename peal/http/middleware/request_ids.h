// SPDX-License-Identifier: BSD-3-Clause
// request_ids(): middleware that gives each request an id and sends it in a field of the answer. Log the id in every
// program that works on the request, and the lines of one request can be found again.
//
//   router.use(peal::request_ids());
//   ... exchange.attached<peal::RequestId>()->text ...
#pragma once

#include <cstdint>
#include <string>

#include <peal/http/server/http_handler.h>

namespace peal {

struct RequestIdOptions {
  // The field of the answer that carries the id.
  std::string field = "X-Request-Id";
  // True if a request may bring its own id in `field`: up to 128 letters, digits, '-', '_', '.' and ':'. Set it only
  // if all requests come through a proxy of yours. Other clients could give two requests the same id.
  bool takes_clients = false;
  // 0 draws a random start, so that two servers do not use the same ids. Any other value makes the same ids in each
  // run, for tests.
  uint64_t seed = 0;
};

// Ids that the middleware makes have 32 hexadecimal digits. Throws std::invalid_argument if `field` is no valid field
// name, or if it is the name of a field that the server sets itself (kServerFields).
HttpMiddleware request_ids(const RequestIdOptions& options = {});

}  // namespace peal
