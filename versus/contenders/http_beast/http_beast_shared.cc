// SPDX-License-Identifier: BSD-3-Clause
// Boost.Beast, one io_context run by all threads, who contend for its mutex and for its one epoll.
#include <thread>
#include <vector>

#include "beast_server.h"
#include "contender.h"

int serve(const contender_options* options) {
  boost::asio::io_context io(options->threads);
  const int listener = open_listener(&options->address, 0);
  BeastAcceptor acceptor(io, listener);
  acceptor.accept_next();
  announce(listener);
  std::vector<std::jthread> threads;
  for (int i = 1; i < options->threads; ++i) threads.emplace_back([&io] { io.run(); });
  io.run();
  return 1;
}
