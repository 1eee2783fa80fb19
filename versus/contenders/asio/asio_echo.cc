// SPDX-License-Identifier: BSD-3-Clause
// See asio_echo.h.
#include "asio_echo.h"

#include "contender.h"

#if OVER_TLS
#include <asio/ssl.hpp>

#include "contender_tls.h"

contender_word contender_words[] = {
    {"--tls-cert", "FILE", nullptr, 0}, {"--tls-key", "FILE", nullptr, 0}, {nullptr, nullptr, nullptr, 0}};
#endif

namespace {

using Socket = asio::basic_stream_socket<asio::ip::tcp, asio::io_context::executor_type>;

#if OVER_TLS
using Stream = asio::ssl::stream<Socket>;

// One for all threads, so that each resumes what another began.
asio::ssl::context make_context() {
  asio::ssl::context context(asio::ssl::context::tls_server);
  contender_tls_set_up(context.native_handle());
  return context;
}

asio::ssl::context& tls_context() {
  static asio::ssl::context context = make_context();
  return context;
}

void prepare() { tls_context(); }

Stream over_socket(Socket socket) { return Stream(std::move(socket), tls_context()); }
#else
using Stream = Socket;

void prepare() {}

Stream over_socket(Socket socket) { return socket; }
#endif

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(Socket socket) : socket_(over_socket(std::move(socket))) {}

#if OVER_TLS
  void start() {
    socket_.async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](std::error_code error) {
      if (!error) self->read();
    });
  }
#else
  void start() { read(); }
#endif

 private:
  void read() {
    socket_.async_read_some(asio::buffer(buffer_), [self = shared_from_this()](std::error_code error, size_t got) {
      if (!error) {
        self->write(got);
      } else if (error == asio::error::eof) {
        self->end();
      }
    });
  }

#if OVER_TLS
  // The peer has said that it ends: so do we.
  void end() { socket_.async_shutdown([self = shared_from_this()](std::error_code){}); }
#else
  void end() {}
#endif

  void write(size_t size) {
    asio::async_write(socket_, asio::buffer(buffer_, size), [self = shared_from_this()](std::error_code error, size_t) {
      if (!error) self->read();
    });
  }

  Stream socket_;
  std::array<char, 20 * 1024> buffer_;
};

void start_session(Socket socket) { std::make_shared<Session>(std::move(socket))->start(); }

}  // namespace

AsioAcceptor::AsioAcceptor(asio::io_context& io, int listener)
    : acceptor_(io.get_executor()), pause_(io.get_executor()) {
  acceptor_.assign(asio::ip::tcp::v4(), listener);
  acceptor_.non_blocking(true);
  prepare();
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
