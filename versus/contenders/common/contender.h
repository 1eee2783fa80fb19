// SPDX-License-Identifier: BSD-3-Clause
// The part that all contenders share: command line, listening socket, signals and main(). Each contender's file then
// holds only the code that is compared, and implements serve().
//
// An echo contender sends back all bytes that arrive, without framing. An HTTP contender answers as contender_http.h
// describes. Before main() calls serve(), it ignores SIGPIPE, raises the fd limit to its maximum, and lets SIGTERM and
// SIGINT end the process with exit code 0.
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

// An extra command-line option of one server program, in addition to --listen and --threads. The option takes one
// value. It must be given unless is_optional is set. The list of these options ends with an entry whose name is NULL. A
// program without extra options defines no list.
struct contender_word {
  const char* name;
  const char* shown;  // the name of the option's value in the usage text
  const char* value;  // NULL if the option was not given
  int is_optional;
};
extern struct contender_word contender_words[];

// Runs the server. Each server program that is compared implements this function. Returns only on failure, with the
// exit code of the process.
int serve(const struct contender_options* options);

// A function that serves one non-blocking listening socket on the calling thread until the process ends.
typedef void (*serve_listener)(int listener);

// Serves on options->threads threads, one of which is the caller's. Opens one listening socket per thread and calls
// serve_one() with it on that thread. If there are several sockets, they share the port with SO_REUSEPORT. Prints the
// address when all sockets listen. Returns only on failure.
int serve_on_each_thread(const struct contender_options* options, serve_listener serve_one);

// Opens a non-blocking TCP socket that listens with a backlog of kContenderBacklog. Sets TCP_NODELAY on it: Linux
// copies this option to every accepted socket, which saves a system call per connection. If share_port is not 0, sets
// SO_REUSEPORT. If a call fails, ends the process.
int open_listener(const struct sockaddr_in* address, int share_port);

// Accepts all waiting connections and calls start(context, fd) for each. The accepted sockets are non-blocking. Returns
// false if fds or memory run out, because connections may still wait in this case. If the result is false, the caller
// must call this function again after a pause. The caller must not wait until epoll reports the listener again.
// Edge-triggered epoll does not report connections twice. Level-triggered epoll reports them all the time, so the loop
// would only repeat the failing accept4().
typedef void (*start_connection)(void* context, int fd);
bool accept_all(int listener, start_connection start, void* context);

// Prints "listening on IPV4:PORT" to stdout, with the address of the socket.
void announce(int listener);

enum { kContenderBacklog = 4096, kContenderRetryMs = 100 };

#ifdef __cplusplus
}
#endif
