// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/forms/read_form.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <utility>

#include <peal/wire/content/content_type.h>

namespace peal {
namespace {

std::unexpected<std::error_code> refuse(HttpExchange& exchange, int status, int error) {
  if (!exchange.begun()) exchange.respond(status);
  return fail(error);
}

bool is_form(const HttpRequestHead& head) {
  return is_content_type(head.find("Content-Type").value_or(""), "application/x-www-form-urlencoded") &&
         !head.find("Content-Encoding");
}

Result<HttpForm> form_of(HttpExchange& exchange, std::string body, const FormLimits& limits) {
  std::optional<HttpForm> form = HttpForm::parse(std::move(body), limits.fields);
  if (!form) return refuse(exchange, 413, E2BIG);
  return std::move(*form);
}

}  // namespace

Task<Result<HttpForm>> read_form(HttpExchange& exchange, FormLimits limits) {
  if (!is_form(exchange.request())) co_return refuse(exchange, 415, EMEDIUMTYPE);
  Result<std::string> body = co_await exchange.read_all();
  if (!body) co_return std::unexpected(body.error());
  co_return form_of(exchange, std::move(*body), limits);
}

void read_form(HttpExchange& exchange, FormLimits limits, Callback<void(HttpExchange&, HttpForm&& form)> on_form) {
  if (!is_form(exchange.request())) {
    std::ignore = refuse(exchange, 415, EMEDIUMTYPE);
    return;
  }
  exchange.read_body([limits, on_form = std::move(on_form)](HttpExchange& read, std::string&& body) mutable {
    Result<HttpForm> form = form_of(read, std::move(body), limits);
    if (form) on_form(read, std::move(*form));
  });
}

}  // namespace peal
