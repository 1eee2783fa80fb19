// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/connect.h>

namespace peal {

bool Connect::start() {
  auto callbacks = detail::stream_callbacks([this](Connection&, detail::StreamState& state) {
    state.keeper = std::move(client_);
    state_ = &state;
    complete(0);
  });
  auto failed = [this](std::error_code error, Duration next_attempt_in) {
    if (next_attempt_in == Client::kNoRetry) complete(detail::why_of(error));
  };
  client_ = std::make_shared<Client>(strand().loop(), std::move(callbacks), options_, std::move(failed));
  const Result<void> started = std::visit([&](const auto& target) { return client_->connect(target); }, target_);
  return started || refuse(detail::why_of(started.error()));
}

Result<Stream> Connect::await_resume() {
  if (why_ != 0) return detail::failed(why_);
  return Stream(*state_);
}

void Connect::cancel(detail::Why why) noexcept {
  client_.reset();
  complete(why);
}

}  // namespace peal
