// SPDX-License-Identifier: BSD-3-Clause
// What the drum contenders share, so that each file holds only the code under comparison: the command line, the ring of
// fds, the dealing, the clock, the count of waits, the JSON and main(). It is `peal drum`'s experiment, and its output.
//
// A contender implements library_name(), idle_manner(), register_all() and pass_around(), and calls drum_byte() where
// it finds fd i readable. epoll_wait() is counted by standing before libc's: libraries are neither changed nor asked.
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
  int timeouts;    // every watcher has an idle timer
  int pipes;       // instead of socketpairs
  int* receiving;  // fds by pair
  int* sending;
};
// As the command line has it.
extern struct drum drum;

// Name and version.
const char* library_name(void);
// What a byte does to an idle timer: "touch" stores its time, "rearm" moves the timer.
const char* idle_manner(void);
// Registers every receiving fd, anew in all rounds but the first (`again`), with its idle timer if asked for; returns
// when all of it has reached the kernel.
void register_all(int again);
// Runs the loop until drum_byte() has answered 1.
void pass_around(void);

// Reads the byte of pair i and passes it on while writes remain. 1 when it was the last of the round.
int drum_byte(int i);
// An idle timer has run out: counted.
void drum_idle(int i);
// From 10 to 11 s, the same for the same watcher in every round, and in every contender.
int drum_idle_ms(int i);

#ifdef __cplusplus
}
#endif
