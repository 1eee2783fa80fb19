// SPDX-License-Identifier: BSD-3-Clause
// read_form(): reads the body of a request as a form (application/x-www-form-urlencoded), which is what a browser sends
// for `<form method="post">`.
//
//   router.post("/login", [](peal::HttpExchange& exchange) -> peal::Task<> {
//     const auto form = co_await peal::read_form(exchange);
//     if (!form) co_return;  // read_form() has answered the request with an error
//     ... form->find("name") ... form->find<bool>("remember") ...
//   });
//
// The body is read as a whole. A body longer than RouteOptions::body_limit_bytes of the route is answered 413. Forms
// with files have another media type: use multipart_form.h.
#pragma once

#include <cstddef>

#include <peal/base/callback.h>
#include <peal/base/result.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>
#include <peal/wire/forms/http_form.h>

namespace peal {

struct FormLimits {
  // A form with more fields is answered 413. The limit is there because HttpForm::find() searches all fields one by
  // one.
  size_t fields = 1000;
};

// Returns the form. If that fails, the request has been answered, unless the handler had begun an answer:
//   - EMEDIUMTYPE, 415: the content is not application/x-www-form-urlencoded, or has a Content-Encoding.
//   - E2BIG, 413: the form has more fields than `limits` allow.
//   - Other errors and their answers are those of HttpExchange::read_all().
Task<Result<HttpForm>> read_form(HttpExchange& exchange, FormLimits limits = {});
// For handlers that are callbacks: calls `on_form` with the form on the exchange's loop. If the form cannot be read,
// sends the answer of the coroutine version above and never calls `on_form`.
void read_form(HttpExchange& exchange, FormLimits limits, Callback<void(HttpExchange&, HttpForm&& form)> on_form);

}  // namespace peal
