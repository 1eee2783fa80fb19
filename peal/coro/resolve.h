// SPDX-License-Identifier: BSD-3-Clause
// co_await resolve(resolver, "example.org", 80): Result<Resolver::Addresses>, with the resolver's errors. Cancelling
// detaches: what the name server still answers is dropped.
#pragma once

#include <string_view>

#include <peal/coro/task.h>
#include <peal/net/resolver.h>

namespace peal {

class [[nodiscard]] Resolve final : public detail::Awaitable<Resolve> {
 public:
  Resolve(Resolver& resolver, std::string_view host, uint16_t port, const ResolveOptions& options)
      : resolver_(resolver), host_(host), port_(port), options_(options) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle) && start();
  }
  Result<Resolver::Addresses> await_resume();
  void cancel(detail::Why why) noexcept override;

 private:
  bool start();

  Resolver& resolver_;
  const std::string_view host_;
  const uint16_t port_;
  const ResolveOptions options_;
  ResolveId id_ = ResolveId::kNone;
  Resolver::Addresses addresses_;
};

// On the resolver's loop; the resolver must live until the await ends. `host` is borrowed until the await ends.
inline Resolve resolve(Resolver& resolver, std::string_view host, uint16_t port, const ResolveOptions& options = {}) {
  return {resolver, host, port, options};
}

}  // namespace peal
