// SPDX-License-Identifier: BSD-3-Clause
// HttpHandler: what answers requests. HttpMiddleware: what stands before one, and may answer in its place.
//
//   router.use([](peal::HttpExchange& exchange, peal::HttpNext next) {
//     if (!is_open_now()) return exchange.respond(503);
//     next(exchange);
//   });
//   router.use([](peal::HttpExchange& exchange, peal::HttpNext next) -> peal::Task<> {
//     const peal::TimePoint begin = peal::monotonic_now();  // the loop's now() stands still during a turn
//     co_await next.run(exchange);  // answered, or the client has gone
//     note(exchange.status(), peal::monotonic_now() - begin);
//   });
//
// Both are functions or coroutines. With several loops they are called on several threads at once, so no `mutable`
// lambda is taken; what is no such function does not compile, with a sentence (peal/base/callback.h). They live until
// the last exchange has ended. What one leaves to those behind it, it says with exchange.attach(). A route without
// middleware pays nothing for it.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <peal/base/callback.h>
#include <peal/coro/task.h>
#include <peal/http/server/http_exchange.h>

namespace peal {

class HttpNext;
class Router;

namespace detail {

template <class Answer>
concept HandlerAnswer = std::is_void_v<Answer> || std::same_as<Answer, Task<>>;

struct HttpChain;

// A function or coroutine of an exchange and `More`.
template <class... More>
class HttpCall {
 public:
  void operator()(HttpExchange& exchange, More... more) const { call_(exchange, more...); }
  bool is_coroutine() const { return static_cast<bool>(task_); }
  // Of a coroutine, which the caller runs.
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

// void(HttpExchange&), or a coroutine, Task<>(HttpExchange&).
class HttpHandler : public detail::HttpCall<> {
 public:
  template <class Function>
    requires(detail::MeantAsCallback<std::decay_t<Function>, HttpHandler> &&
             !std::same_as<std::decay_t<Function>, Router>)
  HttpHandler(Function&& function) {  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
    set(std::forward<Function>(function));
  }
};

// The rest of a route: what middleware passes an exchange on to. Small; good as long as the exchange.
class HttpNext {
 public:
  // Calls it, now or later. In a coroutine it is run(), or what is a coroutine behind it finds that the exchange has
  // one already (std::logic_error).
  void operator()(HttpExchange& exchange) const;
  // For coroutines: `co_await next.run(exchange);`, done when the answer is complete and, where the handler is a
  // coroutine, that has ended. What the handler throws is thrown here.
  Task<> run(HttpExchange& exchange) const { return run(*this, exchange); }

 private:
  friend struct detail::HttpChain;
  HttpNext(const detail::HttpChain& chain, size_t index) : chain_(&chain), index_(index) {}
  static Task<> run(HttpNext next, HttpExchange& exchange);

  const detail::HttpChain* chain_;
  size_t index_;
};

// void(HttpExchange&, HttpNext), or a coroutine, Task<>(HttpExchange&, HttpNext). It answers, or passes on.
class HttpMiddleware : public detail::HttpCall<HttpNext> {
 public:
  template <class Function>
    requires detail::MeantAsCallback<std::decay_t<Function>, HttpMiddleware>
  HttpMiddleware(Function&& function) {  // NOLINT(bugprone-forwarding-reference-overload): the constraint says which
    set(std::forward<Function>(function));
  }
};

namespace detail {

// A handler and what stands before it, the outermost first.
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
