// SPDX-License-Identifier: BSD-3-Clause
// Options: what the command line of the program says.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace app {

struct Options {
  std::string listen = "127.0.0.1:8000";   // loopback, until you decide who may connect
  std::string inspect = "127.0.0.1:9990";  // anyone who reaches this address can read the page, so keep it on loopback
  size_t threads = 0;                      // loops that serve clients, one thread each; 0: one for each processor
  size_t max_connections = 1000;           // each needs one fd
  uint64_t memory_mib = 512;               // hard limit of the memory for connections; the soft limit is half of it
  std::chrono::seconds drain{20};          // how long SIGTERM waits for clients
  bool help = false;
};

// The text of --help.
std::string usage();
// Reads the command line. Returns a sentence if it is wrong.
std::expected<Options, std::string> read_options(int argc, char** argv);

}  // namespace app
