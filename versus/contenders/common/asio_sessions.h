// SPDX-License-Identifier: BSD-3-Clause
// The part that all contenders on asio share (with OVER_BOOST: on Boost.Asio): accepting connections, running the
// loops, and with OVER_TLS the beginning and the end of TLS. A session lives while one of its handlers is pending.
// Tuned as users of asio do: the executor is io_context's own, not the type-erased default. asio itself recycles the
// memory of its operations.
//
// By default every thread has an io_context and a listener on the shared port. No other thread touches that io_context,
// so its locks are off, unless kLocked is true. If kOneLoop is true, all threads run one io_context: a handler runs on
// whichever thread is free.
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

// Two settings that differ between the programs that use asio. asio_loops.cc defines them.
// - kOneLoop: if true, all threads run the same io_context. If false, each thread has its own io_context.
// - kLocked: if true, each thread's own io_context uses its locks, although no other thread runs it. If false, these
//   locks are off. If kOneLoop is true, kLocked has no effect, because the shared io_context always uses its locks.
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

// Returns the TLS context that all threads share. Because it is shared, a client can resume its session on any thread.
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

// Base class of the class `Session`, with which a program serves one connection. start() calls Session::read(): with
// TLS after a successful handshake, without TLS immediately. If the handshake fails, the session is destroyed.
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
  // With TLS, sends close_notify, and keeps the session until the client's close_notify arrives or the connection ends.
  // Without TLS, does nothing. In both cases the destructor of the session closes the socket.
  void end() {
#if OVER_TLS
    stream_.async_shutdown([self = this->shared_from_this()](ErrorCode){});
#endif
  }

  Stream stream_;
};

// Owns a listening socket and starts a `Session` for each connection that it accepts. A session runs on the io_context
// that accepted its connection. A session has only one pending handler at a time, so its handlers never run at the same
// time. A session therefore needs no strand, even if many threads run the io_context.
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
        // Accepts the other waiting connections by direct calls. async_accept() would cost a pass through the reactor
        // for each connection.
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
    // Accepting has failed, usually because no fd is free. Without a pause, the loop would only repeat the failing
    // call.
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

// Runs the server on all threads and starts a `Session` for each accepted connection. A program's serve() calls this
// function. Returns only on failure.
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
