// SPDX-License-Identifier: BSD-3-Clause
// TcpOpening: the first half of opening a connection that runs over a layer: TCP's, on the engine itself. The second,
// the layer's handshake, is the session's: so each half is timed by itself, and fails by itself.
//
//   begin --TCP is open--> tcp_open() --the engine lets go of it--> shake_hands(stream)
//      `--it cannot be opened--> tcp_failed(error)
//
// One thread; it destroys itself.
#pragma once

#include <system_error>

#include <peal/engine/engine.h>

namespace peal::load {

class TcpOpening final : private StreamEvents {
 public:
  class Owner {
   public:
    virtual void tcp_open() = 0;
    // Of these the first is the last it hears.
    virtual void tcp_failed(std::error_code error) = 0;
    virtual void shake_hands(LooseStream stream) = 0;
    // The engine has shut.
    virtual void tcp_closed() = 0;

   protected:
    ~Owner() = default;
  };

  // The owner hears of it until it abandons it, or one of the last calls. The engine outlives both.
  static TcpOpening* begin(Owner& owner, Engine& engine, const SocketAddress& target, const ConnectOptions& options);
  // Closes it without a word.
  void abandon(CloseHow how);

 private:
  TcpOpening(Owner& owner, Engine& engine) : owner_(&owner), engine_(engine) {}
  ~TcpOpening() = default;

  void on_connected(std::error_code error) override;
  void on_detached(LooseStream stream) override;
  void on_closed() override;
  void on_received(Buffer&) override {}
  void on_receive_end(std::error_code) override {}
  void on_send_failed(std::error_code) override {}
  void on_sent(size_t) override {}

  Owner* owner_;  // null: nobody listens
  Engine& engine_;
  StreamId stream_;
};

}  // namespace peal::load
