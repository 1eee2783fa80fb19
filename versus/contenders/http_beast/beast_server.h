// SPDX-License-Identifier: BSD-3-Clause
// Boost.Beast, the HTTP of asio, as its users tune it: the executor is io_context's own, not the type-erased default.
// What differs between the contenders made of it is how many io_contexts there are, and whether their locks are on.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

// Accepts on the listener it adopts. A session runs on the io_context that accepted it, one handler at a time, so no
// strand is needed however many threads run that io_context.
class BeastAcceptor {
 public:
  BeastAcceptor(boost::asio::io_context& io, int listener);
  void accept_next();

 private:
  using Executor = boost::asio::io_context::executor_type;
  using Clock = std::chrono::steady_clock;

  void on_accept_error(const boost::system::error_code& error);

  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor> acceptor_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor> pause_;
};
