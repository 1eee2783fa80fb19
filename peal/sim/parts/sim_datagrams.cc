// SPDX-License-Identifier: BSD-3-Clause
// The datagram sockets of a SimEngine.
#include <cerrno>
#include <utility>

#include <peal/sim/parts/sim_engine.h>

namespace peal::detail {

Result<DatagramId> SimEngine::open_datagrams(const SocketAddress& local, DatagramEvents& events) {
  auto socket = std::make_shared<SimDatagrams>();
  socket->address = local;
  if (int error = network_->bind(socket); error != 0) return fail(error);
  const uint32_t slot = datagrams_.acquire();
  socket->owner = this;
  socket->slot = slot;
  Datagrams& datagrams = datagrams_[slot];
  datagrams.socket = std::move(socket);
  datagrams.events = &events;
  datagrams.listed = false;
  return DatagramId{slot, datagrams.generation};
}

Result<SocketAddress> SimEngine::local_address(DatagramId id) const {
  const Datagrams* datagrams = datagrams_.find(id.slot, id.generation);
  if (datagrams == nullptr) return fail(EBADF);
  return datagrams->socket->address;
}

Result<void> SimEngine::send_datagram(DatagramId id, const SocketAddress& to, std::string_view bytes) {
  Datagrams* datagrams = find(datagrams_, id);
  if (datagrams == nullptr) return fail(EBADF);
  if (int error = network_->send_datagram(*datagrams->socket, to, bytes); error != 0) return fail(error);
  ++stats_.datagrams_sent;
  return {};
}

void SimEngine::close_datagrams(DatagramId id) {
  Datagrams* datagrams = find(datagrams_, id);
  if (datagrams == nullptr) return;
  network_->unbind(datagrams->socket);
  datagrams->socket->owner = nullptr;
  datagrams->socket.reset();
  farewells_.emplace_back([events = datagrams->events] { events->on_datagrams_closed(); });
  datagrams_.release(id.slot);
}

void SimEngine::serve_datagrams(uint32_t slot) {
  constexpr int kDatagramsPerTurn = 64;
  const uint32_t generation = datagrams_[slot].generation;
  for (int i = 0; i < kDatagramsPerTurn; ++i) {
    Datagrams* datagrams = datagrams_.find(slot, generation);
    if (datagrams == nullptr || datagrams->socket->arrived.empty()) return;
    auto [from, text] = std::move(datagrams->socket->arrived.front());
    datagrams->socket->arrived.pop_front();
    datagrams->socket->arrived_bytes -= text.size();
    network_->trace("receives datagram", slot, text.size());
    ++stats_.datagrams_received;
    ++stats_.events;
    Buffer bytes(text);
    datagrams->events->on_datagram(from, bytes);
    flush_all();
  }
  list(datagrams_, Kind::kDatagrams, slot);
}

}  // namespace peal::detail
