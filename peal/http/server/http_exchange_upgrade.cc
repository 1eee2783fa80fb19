// SPDX-License-Identifier: BSD-3-Clause
// The part of HttpExchange for interim answers and upgrades, and the handle that answers from elsewhere.
#include <peal/base/assert.h>
#include <peal/base/bad_value.h>
#include <peal/http/server/http_exchange.h>
#include <peal/http/server/parts/http_carrier.h>
#include <peal/http/server/parts/http_server_session.h>
#include <peal/wire/http/http_field.h>

namespace peal {

using detail::HttpCarrier;

void HttpExchange::inform(int status) {
  if (!may_answer()) return;
  if (status <= 100 || status >= 200 || status == 101)
    throw_bad_value("{} is not a status of an interim answer: 102 to 199 are", status);
  HttpCarrier::of(*this).send_interim(status, fields_.own_lines());
  fields_.drop_own();
}

void HttpExchange::upgrade(std::string_view protocol, std::unique_ptr<UpgradeHandler> handler) {
  if (!may_answer()) return;
  PEAL_ASSERT(handler != nullptr, "upgrade() of exchange {} needs a handler", serial_);
  if (!is_sendable({"Upgrade", protocol})) throw_bad_value("'{}' cannot be sent as a protocol in Upgrade", protocol);
  status_ = static_cast<uint16_t>(HttpCarrier::of(*this).send_upgrade(protocol));
  if (status_ == 0) {
    close_after();
    drop_prepared();
    return respond(400);
  }
  answer_ = Answer::kBegun;
  HttpCarrier::of(*this).hand_over(std::move(handler));
  finish();
}

bool HttpExchangeHandle::run(HttpCallback task) const {
  PEAL_ASSERT(task, "run() of a handle of exchange {} needs a task", serial_);
  return connection_.run_or_end([serial = serial_, task = std::move(task)](Connection& connection) mutable {
    HttpCarrier* carrier = connection.context<detail::HttpServerSession>().carrier_of(serial);
    if (carrier == nullptr || carrier->complete()) return;
    carrier->call([&] { task(*carrier); });
    carrier->advance();
  });
}

bool HttpExchangeHandle::respond(int status, std::string content_type, std::string body) const {
  return run([status, type = std::move(content_type), text = std::move(body)](HttpExchange& exchange) mutable {
    if (!exchange.begun()) exchange.respond(status, type, std::move(text));
  });
}

}  // namespace peal
