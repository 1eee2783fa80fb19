// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/tls_server_context.h>

#include <utility>

#include <peal/tls/parts/tls_port.h>
#include <peal/tls/parts/tls_server_state.h>

namespace peal {

TlsServerContext::TlsServerContext(std::shared_ptr<detail::TlsServerState> state) : state_(std::move(state)) {}
TlsServerContext::~TlsServerContext() = default;

TlsResult<std::unique_ptr<TlsServerContext>> TlsServerContext::make(TlsServerOptions options) {
  TlsResult<std::shared_ptr<detail::TlsServerState>> state = detail::TlsServerState::make(std::move(options));
  if (!state) return std::unexpected(state.error());
  return std::unique_ptr<TlsServerContext>(new TlsServerContext(std::move(*state)));
}

TlsResult<void> TlsServerContext::reload() {
  const TlsResult<bool> loaded = state_->reload(false);
  return loaded ? TlsResult<void>() : std::unexpected(loaded.error());
}
TlsResult<bool> TlsServerContext::reload_if_changed() { return state_->reload(true); }
LayerStats TlsServerContext::stats() const { return state_->stats(); }

std::unique_ptr<StreamPort> TlsServerContext::over(Engine& engine) const noexcept {
  return detail::make_tls_port(engine, state_, true);
}

}  // namespace peal
