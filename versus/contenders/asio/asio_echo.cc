// SPDX-License-Identifier: BSD-3-Clause
// See asio_echo.h.
#include "asio_echo.h"

#include "contender.h"

namespace {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Socket socket) : socket_(std::move(socket)) {}

  void read() {
    socket_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](std::error_code error, size_t got) {
      if (!error) self->write(got);
    });
  }

 private:
  void write(size_t size) {
    asio::async_write(socket_, asio::buffer(buffer_, size), [self = shared_from_this()](std::error_code error, size_t) {
      if (!error) self->read();
    });
  }

  Socket socket_;
  std::array<char, 20 * 1024> buffer_;
};

void start_session(Socket socket) { std::make_shared<Session>(std::move(socket))->read(); }

}  // namespace

AsioAcceptor::AsioAcceptor(asio::io_context& io, int listener)
    : acceptor_(io.get_executor()), pause_(io.get_executor()) {
  acceptor_.assign(asio::ip::tcp::v4(), listener);
  acceptor_.non_blocking(true);
}

void AsioAcceptor::accept_next() {
  acceptor_.async_accept([this](std::error_code error, Socket socket) {
    while (!error) {
      start_session(std::move(socket));
      // The rest of the backlog, without a trip through the reactor for each.
      socket = acceptor_.accept(error);
    }
    on_accept_error(error);
  });
}

void AsioAcceptor::on_accept_error(const std::error_code& error) {
  if (error == asio::error::would_block || error == asio::error::connection_aborted) {
    accept_next();
    return;
  }
  // Out of fds: without a pause the acceptor would spin.
  pause_.expires_after(std::chrono::milliseconds(kContenderRetryMs));
  pause_.async_wait([this](std::error_code) { accept_next(); });
}
