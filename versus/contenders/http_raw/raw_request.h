// SPDX-License-Identifier: BSD-3-Clause
// The least an HTTP server can do and still answer as contender_http.h says: find the end of each request with
// memmem(), look at its method, path and Connection, and copy a constant answer whose Date is patched once a second.
// No I/O here. All state belongs to the thread that calls.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { kRawAnswerBytes = 256 };  // no answer is longer

struct raw_outcome {
  size_t taken;    // bytes of input that are answered
  size_t written;  // bytes of answers
  bool ends;       // the last of them says `Connection: close`
};

// Once a turn of the loop, before raw_answer(): makes the answers on first use, and gives them the Date of now.
void raw_answers_refresh(void);

// Answers every whole request in `in` as long as `room` holds another answer. A request that can no longer become a
// valid one is answered with 4xx and ends the connection.
struct raw_outcome raw_answer(const char* in, size_t size, char* out, size_t room);
