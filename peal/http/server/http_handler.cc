// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/http_handler.h>

#include <peal/http/server/parts/http_carrier.h>

namespace peal {

Task<> HttpNext::run(HttpExchange& exchange) const {
  const HttpNext behind(*chain_, index_ + 1);
  const bool last = index_ == chain_->middleware.size();
  if (last && chain_->handler.is_coroutine()) {
    co_await chain_->handler.task(exchange);
    detail::HttpCarrier::task_ended(exchange);
  } else if (!last && chain_->middleware[index_]->is_coroutine()) {
    co_await chain_->middleware[index_]->task(exchange, behind);
    detail::HttpCarrier::task_ended(exchange);
  } else {
    (*this)(exchange);
    co_await detail::HttpAnswered(exchange);  // a function may answer later
  }
}

}  // namespace peal
