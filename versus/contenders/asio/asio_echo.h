// SPDX-License-Identifier: BSD-3-Clause
// The session and the acceptor both asio contenders share: async_read_some into a buffer of the session's own,
// async_write of what came, again. Tuned as asio's users do: the executor is io_context's own, not the type-erased
// default, and asio recycles the memory of its operations by itself. A session lives while a handler of it is pending.
// With OVER_TLS the stream is asio's ssl::stream.
#pragma once
#include <array>
#include <memory>

#include <asio.hpp>

// Accepts on the listener it adopts. A session runs on the io_context that accepted it, one handler at a time, so no
// strand is needed however many threads run that io_context.
class AsioAcceptor {
 public:
  AsioAcceptor(asio::io_context& io, int listener);
  void accept_next();

 private:
  using Executor = asio::io_context::executor_type;
  using Acceptor = asio::basic_socket_acceptor<asio::ip::tcp, Executor>;

  void on_accept_error(const std::error_code& error);

  Acceptor acceptor_;
  asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, Executor> pause_;
};
