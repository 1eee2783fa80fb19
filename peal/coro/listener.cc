// SPDX-License-Identifier: BSD-3-Clause
#include <peal/coro/listener.h>

namespace peal {

Listener::Listener(Loop& loop, const ServerOptions& options)
    : server_(loop, detail::stream_callbacks([this](Connection&, detail::StreamState& state) { take(state); }),
              options) {}

void Listener::take(detail::StreamState& state) {
  Stream stream(state);
  if (!waiting_.try_push(stream)) ++shed_;
}

void Listener::close() {
  server_.stop_listening();
  waiting_.close();
}

}  // namespace peal
