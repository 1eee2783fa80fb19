// SPDX-License-Identifier: BSD-3-Clause
// How the contenders on asio, and with OVER_BOOST on Boost.Asio, accept connections, run their loops and, with
// OVER_TLS, begin and end TLS. Tuned as asio's users do: the executor is io_context's own, not the type-erased default,
// and asio recycles the memory of its operations by itself. A session lives while a handler of it is pending.
//
// Every thread has an io_context and a listener on the shared port. Nothing of that io_context is ever touched by
// another thread, so its locks are off, unless kLocked asks for them. With kOneLoop all threads run one io_context:
// handlers of a connection run on whichever thread is free.
#pragma once
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "contender.h"

#if OVER_BOOST
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

namespace net = boost::asio;
using ErrorCode = boost::system::error_code;
constexpr int kLocksOff = BOOST_ASIO_CONCURRENCY_HINT_UNSAFE;
constexpr int kLocksOn = BOOST_ASIO_CONCURRENCY_HINT_DEFAULT;
#else
#include <asio.hpp>

namespace net = asio;
using ErrorCode = asio::error_code;
constexpr int kLocksOff = ASIO_CONCURRENCY_HINT_UNSAFE;
constexpr int kLocksOn = ASIO_CONCURRENCY_HINT_DEFAULT;
#endif

// Of each program: asio_loops.cc.
extern const bool kOneLoop;
extern const bool kLocked;

using Executor = net::io_context::executor_type;
using Socket = net::basic_stream_socket<net::ip::tcp, Executor>;

#if OVER_TLS
#if OVER_BOOST
#include <boost/asio/ssl.hpp>
#else
#include <asio/ssl.hpp>
#endif

#include "contender_tls.h"

using Stream = net::ssl::stream<Socket>;

inline net::ssl::context make_tls_context() {
  net::ssl::context context(net::ssl::context::tls_server);
  contender_tls_set_up(context.native_handle());
  return context;
}

// One for all threads, so that each resumes what another began.
inline net::ssl::context& tls_context() {
  static net::ssl::context context = make_tls_context();
  return context;
}

inline void prepare() { tls_context(); }

inline Stream over_socket(Socket socket) { return Stream(std::move(socket), tls_context()); }
#else
using Stream = Socket;

inline void prepare() {}

inline Stream over_socket(Socket socket) { return socket; }
#endif

// A connection; `Session` derives from this. Its read() is called once hands are shaken.
template <class Session>
class BasicSession : public std::enable_shared_from_this<Session> {
 public:
  explicit BasicSession(Socket socket) : stream_(over_socket(std::move(socket))) {}

  void start() {
#if OVER_TLS
    stream_.async_handshake(net::ssl::stream_base::server, [self = this->shared_from_this()](ErrorCode error) {
      if (!error) self->read();
    });
#else
    static_cast<Session*>(this)->read();
#endif
  }

 protected:
  // Whichever of the two ended, the other is told.
  void end() {
#if OVER_TLS
    stream_.async_shutdown([self = this->shared_from_this()](ErrorCode){});
#endif
  }

  Stream stream_;
};

// Accepts on the listener it adopts. A session runs on the io_context that accepted it, one handler at a time, so no
// strand is needed however many threads run that io_context.
template <class Session>
class SessionAcceptor {
 public:
  SessionAcceptor(net::io_context& io, int listener) : acceptor_(io.get_executor()), pause_(io.get_executor()) {
    acceptor_.assign(net::ip::tcp::v4(), listener);
    acceptor_.non_blocking(true);
    prepare();
  }

  void accept_next() {
    acceptor_.async_accept([this](ErrorCode error, Socket socket) {
      while (!error) {
        std::make_shared<Session>(std::move(socket))->start();
        // The rest of the backlog, without a trip through the reactor for each.
        socket = acceptor_.accept(error);
      }
      on_accept_error(error);
    });
  }

 private:
  using Clock = std::chrono::steady_clock;

  void on_accept_error(const ErrorCode& error) {
    if (error == net::error::would_block || error == net::error::connection_aborted) {
      accept_next();
      return;
    }
    // Out of fds: without a pause the acceptor would spin.
    pause_.expires_after(std::chrono::milliseconds(kContenderRetryMs));
    pause_.async_wait([this](ErrorCode) { accept_next(); });
  }

  net::basic_socket_acceptor<net::ip::tcp, Executor> acceptor_;
  net::basic_waitable_timer<Clock, net::wait_traits<Clock>, Executor> pause_;
};

template <class Session>
void serve_thread(int listener) {
  net::io_context io(kLocked ? kLocksOn : kLocksOff);
  SessionAcceptor<Session> acceptor(io, listener);
  acceptor.accept_next();
  io.run();
  fail("io_context::run");
}

// The whole of serve().
template <class Session>
int serve_sessions(const contender_options* options) {
  if (!kOneLoop) return serve_on_each_thread(options, serve_thread<Session>);
  net::io_context io(options->threads);
  const int listener = open_listener(&options->address, 0);
  SessionAcceptor<Session> acceptor(io, listener);
  acceptor.accept_next();
  announce(listener);
  std::vector<std::thread> threads;
  for (int i = 1; i < options->threads; ++i) threads.emplace_back([&io] { io.run(); });
  io.run();
  for (std::thread& thread : threads) thread.join();
  return 1;
}
