// SPDX-License-Identifier: BSD-3-Clause
// The datagram sockets of a SimEngine.
#include <cerrno>
#include <utility>

#include <peal/sim/parts/sim_engine.h>

namespace peal::detail {

Result<peal::Datagrams*> SimEngine::open_datagrams(const SocketAddress& local, const DatagramOptions& options,
                                                   DatagramEvents& events) {
  if (!in_range(options)) return fail(EINVAL);
  if (!options.interface.empty() || !options.multicast_interface.empty()) return fail(ENODEV);
  auto socket = std::make_shared<SimDatagrams>();
  socket->address = local;
  socket->host = host_;
  if (options.receive_buffer_bytes > 0) socket->buffers.receive_bytes = options.receive_buffer_bytes;
  if (options.send_buffer_bytes > 0) socket->buffers.send_bytes = options.send_buffer_bytes;
  if (int error = network_->bind(socket); error != 0) return fail(error);
  const uint32_t slot = datagrams_.acquire();
  socket->owner = this;
  socket->slot = slot;
  Datagrams& datagrams = datagrams_[slot];
  datagrams.engine = this;
  datagrams.socket = std::move(socket);
  datagrams.events = &events;
  datagrams.listed = false;
  return &datagrams;
}

Result<DatagramBuffers> SimEngine::Datagrams::buffers() const {
  return socket->owner == nullptr ? fail(EBADF) : Result<DatagramBuffers>(socket->buffers);
}

Result<void> SimEngine::Datagrams::send(const SocketAddress& to, std::string_view bytes) {
  if (socket->owner == nullptr) return fail(EBADF);
  if (int error = engine->network_->send_datagram(*socket, to, bytes); error != 0) return fail(error);
  return {};
}

void SimEngine::Datagrams::close() {
  if (std::exchange(socket->owner, nullptr) == nullptr) return;
  engine->network_->unbind(socket);
  engine->last_completions_.emplace_back([this] {
    socket.reset();
    engine->datagrams_.release(slot);
    events->on_datagrams_closed();
  });
}

void SimEngine::serve_datagrams(uint32_t slot) {
  constexpr int kDatagramsPerTurn = 64;
  const uint32_t generation = datagrams_[slot].generation;
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    Datagrams* datagrams = datagrams_.find(slot, generation);
    if (datagrams == nullptr || datagrams->socket->owner == nullptr || datagrams->socket->arrived.empty()) return;
    if (const uint64_t dropped = std::exchange(datagrams->socket->dropped, 0); dropped > 0) {
      datagrams->events->on_datagrams_dropped(dropped);
      if (datagrams->socket->owner == nullptr) return;
    }
    auto [from, text] = std::move(datagrams->socket->arrived.front());
    datagrams->socket->arrived.pop_front();
    datagrams->socket->arrived_bytes -= text.size();
    network_->trace("receives datagram", slot, text.size());
    ++stats_.events;
    Buffer bytes(text);
    datagrams->events->on_datagram(from, bytes);
    flush_all();
  }
  mark_ready(datagrams_, Kind::kDatagrams, slot);
}

}  // namespace peal::detail
