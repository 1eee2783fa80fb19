// SPDX-License-Identifier: BSD-3-Clause
// Functions that the examples share: reading arguments, listening, running until Ctrl-C, and printing errors. Each
// server prints "listening on ADDRESS" as soon as clients can connect.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include <peal/loop/loop_group.h>
#include <peal/net/server.h>

namespace peal::examples {

// Returns argv[index], or `otherwise` if there are fewer arguments.
inline std::string argument(int argc, char** argv, int index, std::string_view otherwise) {
  return argc > index ? std::string(argv[index]) : std::string(otherwise);
}

// Prints `what` and the error to stderr. Returns 1, so that main() can return the result.
inline int failed(std::string_view what, std::error_code error) {
  fmt::print(stderr, "{}: {}\n", what, error.message());
  return 1;
}

// Listens on `address` and prints the address. If listening fails, prints the error and returns false. `server` is a
// Server, or any type with the same listen().
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

// Runs the loop until SIGINT or SIGTERM. Returns the exit code of the program.
inline int run(Loop& loop) {
  if (Result<void> done = loop.stop_on_signals(); !done) return failed("cannot handle signals", done.error());
  if (Result<void> ran = loop.run(); !ran) return failed("cannot run the loop", ran.error());
  return 0;
}

// Serves on one loop until SIGINT or SIGTERM. Listens on argv[1], or on `address` if the program has no argument.
// Returns the exit code of the program.
inline int serve(int argc, char** argv, std::string_view address, ConnectionCallbacks callbacks,
                 const ServerOptions& options = {}) {
  Loop loop;
  Server server(loop, std::move(callbacks), options);
  return listen(server, argument(argc, argv, 1, address)) ? run(loop) : 1;
}

// Runs `threads` loops until SIGINT or SIGTERM. `make(group)` must start a server on the loops of the group, and return
// a pointer that owns the server. If `make` cannot start the server, `make` must print the error and return null. The
// calling thread serves no clients: it runs a loop of its own that only waits for the signals. Returns the exit code of
// the program.
template <class Make>
int run_on_threads(size_t threads, const Make& make) {
  Loop signals;
  // From here on, SIGINT and SIGTERM stop this loop instead of ending the process.
  if (Result<void> done = signals.stop_on_signals(); !done) return failed("cannot handle signals", done.error());
  auto group = LoopGroup::start(threads);
  if (!group) return failed("cannot start the loops", group.error());
  const auto server = make(**group);
  if (server == nullptr) return 1;
  Result<void> ran = signals.run();
  return ran ? 0 : failed("cannot run the loop", ran.error());
}

// Serves on `threads` loops until SIGINT or SIGTERM. Returns the exit code of the program.
inline int serve_on_threads(size_t threads, const std::string& address, SharedConnectionCallbacks callbacks,
                            const ServerOptions& options = {}) {
  return run_on_threads(threads, [&](LoopGroup& group) {
    auto server = std::make_unique<Server>(group, std::move(callbacks), options);
    return listen(*server, address) ? std::move(server) : nullptr;
  });
}

}  // namespace peal::examples
