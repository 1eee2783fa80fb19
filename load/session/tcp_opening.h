// SPDX-License-Identifier: BSD-3-Clause
// TcpOpening: the first step of opening a connection that runs over a layer such as TLS. It opens the TCP connection on
// the engine. The second step, the handshake of the layer, is the task of the owner, which is a Session. So each step
// can be timed and can fail separately.
//
//   begin --TCP is open--> tcp_open() --the engine lets go of it--> shake_hands(stream)
//      `--it cannot be opened--> tcp_failed(error)
//
// The object is used on one thread. It deletes itself when its work is done.
#pragma once

#include <system_error>

#include <peal/engine/engine.h>

namespace peal::load {

class TcpOpening final : private StreamEvents {
 public:
  class Owner {
   public:
    virtual void tcp_open() = 0;
    // Unless the owner calls abandon(), a TcpOpening calls exactly one of tcp_failed(), shake_hands() and tcp_closed().
    // After that call, and after abandon(), the TcpOpening calls no function of its owner any more.
    virtual void tcp_failed(std::error_code error) = 0;
    virtual void shake_hands(LooseStream stream) = 0;
    // Called if the engine is shut down while the connection is still being opened.
    virtual void tcp_closed() = 0;

   protected:
    ~Owner() = default;
  };

  // Begins to open a TCP connection to `target`. The returned object deletes itself when its work is done. `engine`
  // must outlive the returned object. `owner` must exist until one of these two things happens:
  // - The object calls tcp_failed(), shake_hands() or tcp_closed() of `owner`.
  // - `owner` calls abandon() of the object.
  static TcpOpening* begin(Owner& owner, Engine& engine, const SocketAddress& target, const ConnectOptions& options);
  // Closes the connection, which may still be in the middle of its opening. After that, this object calls no function
  // of its owner any more.
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

  Owner* owner_;  // null after abandon()
  Engine& engine_;
  StreamId stream_;
};

}  // namespace peal::load
