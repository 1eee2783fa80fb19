// SPDX-License-Identifier: BSD-3-Clause
#include <peal/http/server/http_handler.h>

#include <utility>

#include <peal/http/server/parts/http_carrier.h>

namespace peal {

// Takes `next` by value, which copies it into the frame: the caller's HttpNext may be destroyed before the coroutine
// begins.
Task<> HttpNext::run(HttpNext next, HttpExchange& exchange) {
  const detail::HttpChain& chain = *next.chain_;
  const bool last = next.index_ == chain.middleware.size();
  exchange.fields_.keep();
  if (last && chain.handler.is_coroutine()) {
    co_await chain.handler.task(exchange);
    co_return detail::HttpCarrier::task_ended(exchange);
  }
  if (!last && chain.middleware[next.index_]->is_coroutine()) {
    co_await chain.middleware[next.index_]->task(exchange, HttpNext(chain, next.index_ + 1));
    co_return detail::HttpCarrier::task_ended(exchange);
  }
  detail::HttpExtras& extras = exchange.extras();
  extras.passes_on = true;
  next(exchange);
  co_await detail::HttpAnswered(exchange);  // the function may answer later, or pass the exchange on to a coroutine
  extras.passes_on = false;
  if (!extras.passed_on) co_return;
  Task<> behind = std::move(*extras.passed_on);
  extras.passed_on.reset();
  co_await std::move(behind);
  detail::HttpCarrier::task_ended(exchange);
}

}  // namespace peal
