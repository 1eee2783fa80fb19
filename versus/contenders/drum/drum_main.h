// SPDX-License-Identifier: BSD-3-Clause
// The part that all drum contenders share: command line, the ring of fds, the dealing of bytes, the clock, the count of
// waits, the JSON and main(). Each contender's file then holds only the code that is compared. The experiment and its
// output are those of `peal drum`.
//
// A contender implements library_name(), idle_manner(), register_all() and pass_around(). It calls drum_byte() when fd
// i is readable. To count the waits, drum_main.c replaces libc's epoll_wait(); the libraries stay unchanged.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "contender_program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct drum {
  int pairs;
  int active;
  int writes;
  int rounds;
  int timeouts;    // each watcher has an idle timer
  int pipes;       // the drum uses pipes instead of socketpairs
  int* receiving;  // one fd per pair, by number of the pair
  int* sending;    // one fd per pair
};
// The values of the command-line options, and the fds of all pairs. A pair is a socketpair or a pipe.
extern struct drum drum;

// Returns the name and version of the event library.
const char* library_name(void);
// Returns how the program restarts the idle timer of a pair when a byte arrives. "touch" means that the program only
// stores the pair's new deadline, and regularly compares all stored deadlines with the clock. "rearm" means that the
// program moves the pair's timer in the event library at each byte.
const char* idle_manner(void);
// Registers the receiving fd of every pair with the event loop. If drum.timeouts is set, each fd gets an idle timer.
// `again` is true in every round except the first: then the fds are deregistered first. Returns when the kernel knows
// all changes.
void register_all(int again);
// Runs the event loop until a call of drum_byte() returns 1.
void pass_around(void);

// Reads one byte from pair i. If the round has writes left, also writes one byte to the next pair. Returns 1 if the
// byte was the last one of the round.
int drum_byte(int i);
// Counts an expired idle timer. The program must call this function when the idle timer of pair i expires.
void drum_idle(int i);
// Returns the idle timeout of pair i in milliseconds, between 10,000 and 11,000. The timeout depends only on i, so
// every round and every program uses the same timeouts.
int drum_idle_ms(int i);

#ifdef __cplusplus
}
#endif
