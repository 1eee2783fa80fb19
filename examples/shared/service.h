// SPDX-License-Identifier: BSD-3-Clause
// What an example does around its service: arguments, listening, running until Ctrl-C, saying in one sentence what went
// wrong. Every program prints "listening on ADDRESS" once clients may come.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::examples {

// argv[index], or `otherwise` when there are fewer.
inline std::string argument(int argc, char** argv, int index, std::string_view otherwise) {
  return argc > index ? std::string(argv[index]) : std::string(otherwise);
}

// Prints the sentence; 1, which is what main returns for it.
inline int failed(std::string_view what, std::error_code error) {
  fmt::print(stderr, "{}: {}\n", what, error.message());
  return 1;
}

// Listens on one more address and says so. `server`: a Server, or what listens as it does.
template <class AnyServer>
bool listen(AnyServer& server, const std::string& address) {
  Result<SocketAddress> bound = server.listen(address);
  if (!bound) {
    failed("cannot listen on " + address, bound.error());
    return false;
  }
  fmt::print("listening on {}\n", bound->to_string());
  std::fflush(stdout);
  return true;
}

// Runs until SIGINT or SIGTERM. What main returns.
inline int run(Loop& loop) {
  if (Result<void> done = loop.stop_on_signals(); !done) return failed("cannot handle signals", done.error());
  if (Result<void> ran = loop.run(); !ran) return failed("cannot run the loop", ran.error());
  return 0;
}

// A service on one loop, from its callbacks: `program [ADDRESS]`.
inline int serve(int argc, char** argv, std::string_view address, ConnectionCallbacks callbacks,
                 const ServerOptions& options = {}) {
  Loop loop;
  Server server(loop, std::move(callbacks), options);
  return listen(server, argument(argc, argv, 1, address)) ? run(loop) : 1;
}

// Runs until SIGINT or SIGTERM, which the calling thread waits for, while `threads` loops serve. `make` takes the
// LoopGroup and answers a pointer to the server that listens on it; null: it has said why there is none.
template <class Make>
int run_on_threads(size_t threads, const Make& make) {
  Loop signals;
  // Before other threads start, so that they inherit what is blocked.
  if (Result<void> done = signals.stop_on_signals(); !done) return failed("cannot handle signals", done.error());
  auto group = LoopGroup::start(threads);
  if (!group) return failed("cannot start the loops", group.error());
  const auto server = make(**group);
  if (server == nullptr) return 1;
  Result<void> ran = signals.run();
  return ran ? 0 : failed("cannot run the loop", ran.error());
}

// A service on `threads` loops, from its callbacks.
inline int serve_on_threads(size_t threads, const std::string& address, SharedConnectionCallbacks callbacks,
                            const ServerOptions& options = {}) {
  return run_on_threads(threads, [&](LoopGroup& group) {
    auto server = std::make_unique<Server>(group, std::move(callbacks), options);
    return listen(*server, address) ? std::move(server) : nullptr;
  });
}

}  // namespace peal::examples
