// SPDX-License-Identifier: BSD-3-Clause
// HttpHandler: a function or coroutine that answers requests. HttpMiddleware: one that is called before a handler, and
// may answer in the handler's place.
//
//   router.use([](peal::HttpExchange& exchange, peal::HttpNext next) {
//     if (!is_open_now()) return exchange.respond(503);
//     next(exchange);
//   });
//   router.use([](peal::HttpExchange& exchange, peal::HttpNext next) -> peal::Task<> {
//     const peal::TimePoint begin = peal::monotonic_now();  // the loop's now() stands still during a turn
//     co_await next.run(exchange);  // answered, or the client has left
//     note(exchange.status(), peal::monotonic_now() - begin);
//   });
//
// A server with several loops calls both on several threads at once. A `mutable` lambda is therefore refused at compile
// time, with a message that says so (peal/base/callback.h). Handlers and middleware live until the last exchange has
// ended. Middleware passes values to later middleware and to the handler by exchange.attach(). A route without
// middleware pays nothing for the feature.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

class HttpNext;
class Router;

// The id of a request, which middleware attaches to the exchange: exchange.attached<RequestId>(). request_ids()
// (peal/http/middleware/request_ids.h) makes ids. An access log in JSON has the id.
struct RequestId {
  std::string text;
};

namespace detail {

template <class Answer>
concept HandlerAnswer = std::is_void_v<Answer> || std::same_as<Answer, Task<>>;

struct HttpChain;

// HttpCall: holds a function or coroutine whose parameters are an exchange and `More`.
template <class... More>
class HttpCall {
 public:
  // Calls the stored function. If it is a coroutine, starts it by HttpExchange::run().
  void operator()(HttpExchange& exchange, More... more) const { call_(exchange, more...); }
  bool is_coroutine() const { return static_cast<bool>(task_); }

  // Returns the coroutine as a task that the caller must run. May be called only if is_coroutine() is true.
  Task<> task(HttpExchange& exchange, More... more) const { return task_(exchange, more...); }

 protected:
  template <class Function>
  void set(Function&& function) {
    using Own = std::decay_t<Function>;
    constexpr bool kTaken = std::invocable<Own&, HttpExchange&, More...>;
    static_assert(
        kTaken || sizeof...(More) > 0,
        "an HTTP handler is called with an HttpExchange&, by reference, and nothing else: void(HttpExchange&) "
        "or Task<>(HttpExchange&)");
    static_assert(
        kTaken || sizeof...(More) == 0,
        "HTTP middleware is called with an HttpExchange&, by reference, and an HttpNext: void(HttpExchange&, HttpNext) "
        "or Task<>(HttpExchange&, HttpNext)");
    if constexpr (kTaken) {
      using Answer = std::invoke_result_t<Own&, HttpExchange&, More...>;
      constexpr bool kAnswers = HandlerAnswer<Answer>;
      static_assert(kAnswers,
                    "an HTTP handler returns void or, a coroutine, Task<>: any other result would be lost, and a "
                    "Task<int> never run");
      constexpr bool kShared = std::invocable<const Own&, HttpExchange&, More...>;
      static_assert(kShared, "an HTTP handler is called by several loops at once: it is no mutable lambda");
      if constexpr (kAnswers && kShared && std::same_as<Answer, Task<>>) {
        auto kept = std::make_shared<const Own>(std::forward<Function>(function));
        call_ = [kept](HttpExchange& exchange, More... more) { exchange.run((*kept)(exchange, more...)); };
        task_ = [kept](HttpExchange& exchange, More... more) { return (*kept)(exchange, more...); };
      } else if constexpr (kAnswers && kShared) {
        call_ = std::forward<Function>(function);
      }
    }
  }

 private:
  SharedCallback<void(HttpExchange&, More...)> call_;
  SharedCallback<Task<>(HttpExchange&, More...)> task_;
};

}  // namespace detail

// HttpHandler: holds a function void(HttpExchange&) or a coroutine Task<>(HttpExchange&).
class HttpHandler : public detail::HttpCall<> {
 public:
  template <class Function>
    requires(detail::MeantAsCallback<std::decay_t<Function>, HttpHandler> &&
             !std::same_as<std::decay_t<Function>, Router>)
  HttpHandler(Function&& function) {  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
    set(std::forward<Function>(function));
  }
};

// HttpNext: the part of a route that comes after a middleware: further middleware and the handler. The middleware calls
// its HttpNext to pass the exchange on. An HttpNext is cheap to copy and valid until the exchange ends.
class HttpNext {
 public:
  // Calls the rest of the route. Middleware may do this before it returns or later. Middleware that is a coroutine must
  // use run() instead. Otherwise a coroutine in the rest of the route throws std::logic_error, since the exchange
  // already has a coroutine.
  void operator()(HttpExchange& exchange) const;

  // Calls the rest of the route from a coroutine: `co_await next.run(exchange);`. The co_await ends when the answer is
  // complete and, if the handler is a coroutine, that coroutine has ended. An exception of the handler is rethrown by
  // the co_await.
  Task<> run(HttpExchange& exchange) const { return run(*this, exchange); }

 private:
  friend struct detail::HttpChain;
  HttpNext(const detail::HttpChain& chain, size_t index) : chain_(&chain), index_(index) {}
  static Task<> run(HttpNext next, HttpExchange& exchange);

  const detail::HttpChain* chain_;
  size_t index_;
};

// HttpMiddleware: holds a function void(HttpExchange&, HttpNext) or a coroutine Task<>(HttpExchange&, HttpNext). The
// middleware either answers or calls its HttpNext.
class HttpMiddleware : public detail::HttpCall<HttpNext> {
 public:
  template <class Function>
    requires detail::MeantAsCallback<std::decay_t<Function>, HttpMiddleware>
  HttpMiddleware(Function&& function) {  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
    set(std::forward<Function>(function));
  }
};

namespace detail {

// HttpChain: a handler and the middleware that is called before it. The outermost middleware comes first.
struct HttpChain {
  std::vector<const HttpMiddleware*> middleware;
  HttpHandler handler;

  void operator()(HttpExchange& exchange) const { HttpNext(*this, 0)(exchange); }
};

}  // namespace detail

inline void HttpNext::operator()(HttpExchange& exchange) const {
  exchange.fields_.keep();
  if (index_ == chain_->middleware.size()) return chain_->handler(exchange);
  (*chain_->middleware[index_])(exchange, HttpNext(*chain_, index_ + 1));
}

}  // namespace peal
