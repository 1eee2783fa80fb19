// SPDX-License-Identifier: BSD-3-Clause
// co_await resolve(resolver, "example.org", 80): returns Result<Resolver::Addresses>, with the errors of
// Resolver::resolve(). If the await is cancelled, the answer of the name server is dropped when it arrives.
#pragma once

#include <string_view>
#include <utility>

#include <peal/coro/task.h>
#include <peal/net/resolver.h>

namespace peal {

// The awaitable that resolve() returns.
class [[nodiscard]] Resolve final : public detail::Awaitable<Resolve> {
 public:
  Resolve(Resolver& resolver, std::string_view host, uint16_t port, const ResolveOptions& options)
      : resolver_(resolver), host_(host), port_(port), options_(options) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle) && start();
  }
  Result<Resolver::Addresses> await_resume() {
    if (why_ != 0) return detail::failed(why_);
    return std::move(addresses_);
  }
  void cancel(detail::Why why) noexcept override {
    resolver_.cancel(id_);
    complete(why);
  }

 private:
  // Asks the resolver for the addresses. Returns false and sets why_ if the resolver fails at once.
  bool start() {
    auto answered = [this](Result<Resolver::Addresses> addresses) {
      if (addresses) addresses_ = std::move(*addresses);
      complete(addresses ? 0 : detail::why_of(addresses.error()));
    };
    const Result<ResolveId> id = resolver_.resolve(host_, port_, options_, std::move(answered));
    id_ = id.value_or(ResolveId::kNone);
    return id || refuse(detail::why_of(id.error()));
  }

  Resolver& resolver_;
  const std::string_view host_;
  const uint16_t port_;
  const ResolveOptions options_;
  ResolveId id_ = ResolveId::kNone;
  Resolver::Addresses addresses_;
};

// Resolves `host` to its addresses. Must be awaited on the resolver's loop. The resolver and the characters of `host`
// must live until the await ends.
inline Resolve resolve(Resolver& resolver, std::string_view host, uint16_t port, const ResolveOptions& options = {}) {
  return {resolver, host, port, options};
}

}  // namespace peal
