// SPDX-License-Identifier: BSD-3-Clause
// What the bare clients share: command line, connecting, clocks. Any failure ends the process with one sentence.
#pragma once
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "contender_program.h"

enum { kSourceAddresses = 16, kReadBytes = 64 * 1024, kPatternPeriod = 128 };

// A number given as `--name VALUE`; what the pointer holds beforehand is the default.
struct bare_option {
  const char* name;
  double* value;
};

// Reads `IPV4:PORT` and the options, in any order; anything else prints the usage and exits with 2. Also ignores
// SIGPIPE and raises the fd limit to its ceiling.
struct sockaddr_in parse_command_line(int argc, char** argv, const struct bare_option* options, size_t count);

// A stream with TCP_NODELAY, from 127.0.0.(1 + source % kSourceAddresses) when source >= 0. The kernel picks the port
// at connect, so one port serves several sources. Non-blocking ones are still connecting; -1 with errno on failure.
int open_stream(const struct sockaddr_in* target, int source, int flags);

// Byte i is i mod 128.
void fill_pattern(char* bytes, size_t size);

// Prints "ready N" and returns when standard input ends.
void hold_until_input_ends(int connections);

uint64_t now_ns(void);
// CPU time of a process, all threads; 0 stands for this one.
uint64_t cpu_ns(int pid);
