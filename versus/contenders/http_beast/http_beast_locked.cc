// SPDX-License-Identifier: BSD-3-Clause
// Boost.Beast, an io_context per thread as it is by default: it takes its mutex though no other thread ever does.
#include "beast_server.h"
#include "contender.h"

static void serve_thread(int listener) {
  boost::asio::io_context io;
  BeastAcceptor acceptor(io, listener);
  acceptor.accept_next();
  io.run();
  fail("io_context::run");
}

int serve(const contender_options* options) { return serve_on_each_thread(options, serve_thread); }
