// SPDX-License-Identifier: BSD-3-Clause
// The minimum of an HTTP server that still answers as contender_http.h describes. It finds the end of each request with
// memmem(), looks at the method, the path and the Connection field, and copies a constant answer. The Date in that
// answer is updated once a second. Does no I/O. All state belongs to the calling thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { kRawAnswerBytes = 256 };  // longer than any answer

struct raw_outcome {
  size_t taken;    // bytes of input that are answered
  size_t written;  // bytes of answers
  bool ends;       // the last answer says `Connection: close`
};

// Builds the constant answers on the first call. Later calls update the Date in them. Must be called in each iteration
// of the event loop, before raw_answer().
void raw_answers_refresh(void);

// Answers the complete requests in the first `size` bytes of `in`. Writes the answers to `out`, which has `room` bytes,
// and stops when another answer might not fit. A malformed request is answered with 400. A request whose header is
// longer than kHttpMaxHeaderBytes is answered with 431, even if the request is not complete. If the caller must close
// the connection after the last answer, the result's field `ends` is true. Requests after this answer are not answered.
struct raw_outcome raw_answer(const char* in, size_t size, char* out, size_t room);
