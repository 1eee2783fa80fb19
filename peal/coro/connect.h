// SPDX-License-Identifier: BSD-3-Clause
// co_await connect("example.org:80"): connects to an address or a name on the loop of the awaiting coroutine and
// returns a Stream. ClientOptions say how names are resolved, how the addresses of a name are raced, how often
// connecting is tried again, and for how long. RetryOptions::reconnect of ClientOptions::retry is ignored.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include <peal/coro/stream.h>
#include <peal/net/client.h>

namespace peal {

// g++ 12 destroys temporary objects of a co_await expression twice. For a temporary ClientOptions this is harmless only
// because the destructor is trivial.
static_assert(std::is_trivially_destructible_v<ClientOptions>);

// The awaitable that connect() returns.
class [[nodiscard]] Connect final : public detail::Awaitable<Connect> {
 public:
  // The two kinds of address that Client::connect() takes: a string, or a host and a port.
  using Target = std::variant<std::string, HostPort>;

  Connect(Target target, const ClientOptions& options) : target_(std::move(target)), options_(options) {
    options_.retry.reconnect = false;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> handle) {
    return begin(handle) && start();
  }
  Result<Stream> await_resume();
  void cancel(detail::Why why) noexcept override;

 private:
  // Creates the client and begins to connect. Returns false and sets why_ if connecting fails at once.
  bool start();

  const Target target_;
  ClientOptions options_;
  std::shared_ptr<Client> client_;  // moved to StreamState::keeper once connected
  detail::StreamState* state_ = nullptr;
};

// Connects to `address`. Fails with Trouble::kBadAddress if `address` cannot be parsed. If all attempts to connect
// fail, fails with the error of the last attempt.
inline Connect connect(std::string address, const ClientOptions& options = {}) {
  return Connect(std::move(address), options);
}
// Connects to a host and a port. Use this overload for a host that comes from a peer or a URL, because the host is
// never taken for the path of a unix socket.
inline Connect connect(HostPort place, const ClientOptions& options = {}) { return Connect(std::move(place), options); }

}  // namespace peal
