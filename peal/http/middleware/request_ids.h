// SPDX-License-Identifier: BSD-3-Clause
// Request ids: each request has a name of its own, which its answer says too, so that what was logged of it in several
// places can be found again.
//
//   router.use(peal::request_ids());
//   ... exchange.attached<peal::RequestId>()->text ...
#pragma once

#include <cstdint>
#include <string>

#include <peal/http/server/http_handler.h>

namespace peal {

// Attached to the exchange.
struct RequestId {
  std::string text;
};

struct RequestIdOptions {
  std::string field = "X-Request-Id";
  // What the request says in that field is its id, if it is made of up to 128 letters, digits, '-', '_', '.' and ':'.
  // For servers behind a proxy of one's own: anybody else could have two requests have one id.
  bool takes_clients = false;
  // 0: ids are unlike those of any other server. Else they are the same in each run: for tests.
  uint64_t seed = 0;
};

// Ids are 32 hexadecimal digits. std::invalid_argument for a field that set_field() does not take.
HttpMiddleware request_ids(const RequestIdOptions& options = {});

}  // namespace peal
