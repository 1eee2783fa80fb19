// SPDX-License-Identifier: BSD-3-Clause
#include <load/session/tcp_opening.h>

#include <utility>

namespace peal::load {

TcpOpening* TcpOpening::begin(Owner& owner, Engine& engine, const SocketAddress& target,
                              const ConnectOptions& options) {
  auto* const opening = new TcpOpening(owner, engine);
  opening->stream_ = engine.connect(target, options, *opening);
  return opening;
}

void TcpOpening::abandon(CloseHow how) {
  owner_ = nullptr;
  engine_.close(stream_, how);
}

void TcpOpening::on_connected(std::error_code error) {
  if (owner_ == nullptr) return;
  if (error) {
    Owner& owner = *owner_;
    abandon(CloseHow::kNormal);
    return owner.tcp_failed(error);
  }
  owner_->tcp_open();
  engine_.detach(stream_);
}

// Called when the engine has handed over the open TCP connection (Engine::detach()). From now on, `stream` owns the
// connection. Passes `stream` to the owner, which does the handshake of the layer (for example TLS) on it. If the owner
// has called abandon(), nobody needs `stream`. It is destroyed when this function returns, and that closes the
// connection.
void TcpOpening::on_detached(LooseStream stream) {
  Owner* const owner = owner_;
  delete this;
  if (owner != nullptr) owner->shake_hands(std::move(stream));
}

void TcpOpening::on_closed() {
  Owner* const owner = owner_;
  delete this;
  if (owner != nullptr) owner->tcp_closed();
}

}  // namespace peal::load
