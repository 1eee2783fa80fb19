// SPDX-License-Identifier: BSD-3-Clause
// read_form(): the body of a request as the form that a browser makes of `<form method="post">`.
//
//   router.post("/login", [](peal::HttpExchange& exchange) -> peal::Task<> {
//     const auto form = co_await peal::read_form(exchange);
//     if (!form) co_return;  // it has been answered
//     ... form->find("name") ... form->find<bool>("remember") ...
//   });
//
// It is read as a whole, as long as the route allows (RouteOptions::body_limit_bytes; 413). A form with files is
// another type: multipart_form.h.
#pragma once

#include <cstddef>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/forms/http_form.h>

namespace peal {

struct FormLimits {
  // 413 for more. A form has a few; each costs time in every find().
  size_t fields = 1000;
};

// Without a form it has been answered, unless an answer had begun: EMEDIUMTYPE, 415, where the content is not
// application/x-www-form-urlencoded or has a coding; E2BIG, 413, for more fields than allowed; else as
// HttpExchange::read_all().
Task<Result<HttpForm>> read_form(HttpExchange& exchange, FormLimits limits = {});
// Calls back with the form, or answers instead.
void read_form(HttpExchange& exchange, FormLimits limits, Callback<void(HttpExchange&, HttpForm&& form)> on_form);

}  // namespace peal
