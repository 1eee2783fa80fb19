// SPDX-License-Identifier: BSD-3-Clause
#include <peal/tls/tls_client_context.h>

#include <utility>

#include <peal/tls/parts/tls_client_state.h>
#include <peal/tls/parts/tls_port.h>

namespace peal {

TlsClientContext::TlsClientContext(std::shared_ptr<detail::TlsClientState> state) : state_(std::move(state)) {}
TlsClientContext::~TlsClientContext() = default;

TlsResult<std::unique_ptr<TlsClientContext>> TlsClientContext::make(TlsClientOptions options) {
  TlsResult<std::shared_ptr<detail::TlsClientState>> state = detail::TlsClientState::make(std::move(options));
  if (!state) return std::unexpected(state.error());
  return std::unique_ptr<TlsClientContext>(new TlsClientContext(std::move(*state)));
}

LayerStats TlsClientContext::stats() const { return state_->stats(); }

std::unique_ptr<StreamPort> TlsClientContext::over(Engine& engine) const noexcept {
  return detail::make_tls_port(engine, state_, false);
}

}  // namespace peal
