// SPDX-License-Identifier: BSD-3-Clause
// What every contender shares, so that each file holds only the code under comparison: the command line, the listening
// socket, the signals and main(). A ping-pong contender sends back whatever bytes arrive, unframed; an HTTP contender
// answers as contender_http.h says. Each implements serve().
// main() has ignored SIGPIPE, raised the fd limit to its ceiling and made SIGTERM and SIGINT end the process with 0.
#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

#include "contender_program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct contender_options {
  struct sockaddr_in address;
  int threads;  // at least 1
};

// What a contender takes beside --listen and --threads: each has one value, and all but the optional ones are needed.
// The list ends with one without a name; who takes nothing more defines none.
struct contender_word {
  const char* name;
  const char* shown;  // what its value is called
  const char* value;  // NULL: not given
  int is_optional;
};
extern struct contender_word contender_words[];

// Implemented once by each contender. Returns only on failure, with the exit code.
int serve(const struct contender_options* options);

// Serves one non-blocking listener for the life of the process, on the thread that calls it.
typedef void (*serve_listener)(int listener);

// A socket per thread, sharing the port by SO_REUSEPORT when there are several, each served by a thread of its own; the
// first is the caller's. Announces the address once all of them listen. Returns only on failure.
int serve_on_each_thread(const struct contender_options* options, serve_listener serve_one);

// A non-blocking socket, bound and listening with a backlog of kContenderBacklog. TCP_NODELAY is set here: Linux hands
// it on to every accepted socket, which spares each contender a system call per connection. Failure ends the process.
int open_listener(const struct sockaddr_in* address, int share_port);

// Accepts until nobody waits: `start` gets each non-blocking socket, and `context`. False: fds or memory ran out while
// connections wait. The caller must retry after a pause: epoll reports no new edge for them, and a level would spin.
typedef void (*start_connection)(void* context, int fd);
bool accept_all(int listener, start_connection start, void* context);

// Prints the one line that says where `listener` listens.
void announce(int listener);

enum { kContenderBacklog = 4096, kContenderRetryMs = 100 };

#ifdef __cplusplus
}
#endif
