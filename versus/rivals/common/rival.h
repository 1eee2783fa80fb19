// SPDX-License-Identifier: BSD-3-Clause
// The part that the drivers of the rivals share besides contender.h. A library that opens its listener itself takes a
// host and a port, and cannot tell which port it got for port 0. So a free port is found first. It is announced when
// the library listens.
#pragma once
#include <netinet/in.h>

#include "contender.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rival_place {
  char host[INET_ADDRSTRLEN];
  int port;  // never 0
};

// Returns the host and port to listen on. If the options ask for port 0, chooses a free port.
struct rival_place rival_place_of(const struct contender_options* options);

// Calls serve_one(place) on options->threads threads, one of which is the caller's. Each of these threads must call
// rival_listens() when its server listens. When all threads have called rival_listens(), the last call prints the
// address, so that no client connects earlier. Returns only on failure.
int rival_on_each_thread(const struct contender_options* options, void (*serve_one)(const struct rival_place* place));
void rival_listens(void);

// Starts a thread that tries to connect to the server until a connection succeeds. The thread closes this connection
// and prints the address. A program calls this function if its library does not report when it listens.
void rival_announce_once_it_accepts(const struct rival_place* place);

// Prints "listening on HOST:PORT" to stdout.
void rival_announce(const struct rival_place* place);

#ifdef __cplusplus
}
#endif
