// SPDX-License-Identifier: BSD-3-Clause
// Boost.Beast, an io_context and a listener on the shared port for every thread, as who knows asio sets it up.
#include "beast_server.h"
#include "contender.h"

static void serve_thread(int listener) {
  // Nothing of this io_context is ever touched by another thread, so its locks can go.
  boost::asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  BeastAcceptor acceptor(io, listener);
  acceptor.accept_next();
  io.run();
  fail("io_context::run");
}

int serve(const contender_options* options) { return serve_on_each_thread(options, serve_thread); }
