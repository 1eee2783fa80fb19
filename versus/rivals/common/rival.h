// SPDX-License-Identifier: BSD-3-Clause
// What the rivals' drivers share beside contender.h: a library that opens its listener itself takes a host and a port,
// and cannot say which port 0 became. So a free one is found first; it is announced once the library listens.
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

// Where to listen.
struct rival_place rival_place_of(const struct contender_options* options);

// Calls serve_one(place) on options->threads threads, the caller's among them. Each calls rival_listens() once it does;
// the last one's call announces the place. Returns only on failure.
int rival_on_each_thread(const struct contender_options* options, void (*serve_one)(const struct rival_place* place));
void rival_listens(void);

// For a library that tells nobody when it listens: announces the place as soon as it accepts a connection, which is
// closed again.
void rival_announce_once_it_accepts(const struct rival_place* place);

// Prints the line of contender.h's announce().
void rival_announce(const struct rival_place* place);

#ifdef __cplusplus
}
#endif
