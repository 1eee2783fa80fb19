// SPDX-License-Identifier: BSD-3-Clause
// DatagramSet: the datagram sockets of an engine that watches fds; it is all they need. On the engine's thread.
//
// Errors that come back (ICMP) are read from the socket's error queue (IP_RECVERR, ip(7)): without it an unconnected
// UDP socket is told of none, and with it the next call of any kind fails with them, whomever it means; so what such a
// call answers is no news.
#pragma once

#include <peal/base/slot_table.h>
#include <peal/engine/engine.h>

namespace peal::detail {

class DatagramSet {
 public:
  // Both outlive it. When the engine shuts it unwatches the sockets, which is their end too.
  DatagramSet(Engine& engine, EngineStats& stats) : engine_(engine), stats_(stats) {}

  Result<DatagramId> open(const SocketAddress& local, DatagramEvents& events);
  Result<SocketAddress> local_address(DatagramId id) const;
  Result<void> send(DatagramId id, const SocketAddress& to, std::string_view bytes);
  void close(DatagramId id);

 private:
  struct Socket final : WatchEvents, SlotLinks {
    void on_ready(bool readable, bool writable) override;
    void on_unwatched() override;

    DatagramSet* set = nullptr;
    DatagramEvents* events = nullptr;
    uint32_t slot = 0;
    bool closing = false;
    Fd fd;
    WatchId watch;
  };

  const Socket* find(DatagramId id) const;
  bool receive_one(Socket& socket);
  void receive_errors(Socket& socket);

  Engine& engine_;
  EngineStats& stats_;
  SlotTable<Socket> sockets_;
};

}  // namespace peal::detail
