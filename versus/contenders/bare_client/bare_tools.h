// SPDX-License-Identifier: BSD-3-Clause
// Functions that the bare clients share: command line, connecting, clocks. Any failure prints one sentence and ends the
// process.
#pragma once
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "contender_program.h"

enum { kSourceAddresses = 16, kReadBytes = 64 * 1024, kPatternPeriod = 128 };

// A numeric command-line option, given as `--name VALUE`. `value` points to the variable that receives the number. The
// variable must hold the default value before the command line is parsed.
struct bare_option {
  const char* name;
  double* value;
};

// Parses the server's address (IPV4:PORT) and the options; their order does not matter. Returns the address. If the
// command line is wrong, prints the usage and ends the process with exit code 2. Also prepares the process for
// connections. SIGPIPE is ignored, so that sending to a closed connection fails but does not end the process. The limit
// of open fds is raised to its maximum, so that many connections can be open.
struct sockaddr_in parse_command_line(int argc, char** argv, const struct bare_option* options, size_t count);

// Opens a TCP connection to `target`, with TCP_NODELAY. Returns the fd, or -1 with errno set.
// - `source`: if it is not negative, the connection comes from the address 127.0.0.(1 + source % kSourceAddresses).
//   Several source addresses allow more connections than one address has ports. The kernel chooses the port in
//   connect() and not in bind(), because connect() knows the target. The chosen port may be any port that no connection
//   from this source address to the target uses.
// - `flags`: with SOCK_NONBLOCK, the connection may not be established yet when the function returns.
int open_stream(const struct sockaddr_in* target, int source, int flags);

// Fills `bytes` with a test pattern: byte i has the value i mod 128.
void fill_pattern(char* bytes, size_t size);

// Prints "ready N" to stdout; N is the number of connections. Then reads standard input until its end.
void hold_until_input_ends(int connections);

uint64_t now_ns(void);
// Returns the CPU time that all threads of a process have used, in nanoseconds. A `pid` of 0 means the calling process.
uint64_t cpu_ns(int pid);
