// SPDX-License-Identifier: BSD-3-Clause
// asio, one io_context run by all threads: handlers of a connection run on whichever thread is free.
#include <thread>
#include <vector>

#include "asio_echo.h"
#include "contender.h"

int serve(const contender_options* options) {
  asio::io_context io(options->threads);
  const int listener = open_listener(&options->address, 0);
  AsioAcceptor acceptor(io, listener);
  acceptor.accept_next();
  announce(listener);
  std::vector<std::jthread> threads;
  for (int i = 1; i < options->threads; ++i) threads.emplace_back([&io] { io.run(); });
  io.run();
  return 1;
}
