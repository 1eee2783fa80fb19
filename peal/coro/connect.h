// SPDX-License-Identifier: BSD-3-Clause
// co_await connect("example.org:80"): a Stream to an address or a name, on the loop the coroutine runs on. Names, the
// race between their addresses, retries and the time they may take are ClientOptions'; `reconnect` means nothing here.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <variant>

#include <peal/coro/stream.h>
#include <peal/net/client.h>

namespace peal {

// g++ 12 destroys such a temporary of an awaited expression twice.
static_assert(std::is_trivially_destructible_v<ClientOptions>);

class [[nodiscard]] Connect final : public detail::Awaitable<Connect> {
 public:
  // What Client::connect() takes.
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
  bool start();

  const Target target_;
  ClientOptions options_;
  std::shared_ptr<Client> client_;  // the stream's once connected
  detail::StreamState* state_ = nullptr;
};

// The last attempt's error; Trouble::kBadAddress.
inline Connect connect(std::string address, const ClientOptions& options = {}) {
  return Connect(std::move(address), options);
}
// Where the host comes from a peer or a URL: it is never a unix socket.
inline Connect connect(HostPort place, const ClientOptions& options = {}) { return Connect(std::move(place), options); }

}  // namespace peal
