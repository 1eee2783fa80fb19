// SPDX-License-Identifier: BSD-3-Clause
// CoEcho: the base class of the echo services of stackful and stackless coroutines. A CoEcho makes system calls, runs
// the work of requests, and counts. It never waits: the derived classes do. Use it on one thread only.
#pragma once

#include <models/common/coroutine/co_socket.h>
#include <models/common/echo/echo_bytes.h>
#include <models/common/statistics.h>

namespace peal::models {

class CoEcho {
 public:
  // `loop`, `options` and `statistics` must outlive the CoEcho.
  CoEcho(CoroutineLoop& loop, const ModelOptions& options, Statistics& statistics)
      : loop_(loop), options_(options), statistics_(statistics) {}
  ~CoEcho() { statistics_.add(tally_); }
  CoEcho(const CoEcho&) = delete;
  CoEcho& operator=(const CoEcho&) = delete;

  CoroutineLoop& loop() { return loop_; }
  const ModelOptions& options() const { return options_; }
  // Counts an accepted connection in Tally::waited if the connection had to wait for a free coroutine. Call
  // count_waiting() once for each accepted connection. A connection counts as waiting in two cases:
  // - `coroutine_free` is false: no coroutine is free for this connection now.
  // - An earlier connection found no free coroutine, and try_accept() has never found the listener's backlog empty
  //   after that. A coroutine may be free for this connection now. But the connection was probably in the backlog while
  //   no coroutine was free.
  void count_waiting(bool coroutine_free);

 protected:
  Accepted try_accept(CoSocket& listener);
  // Parses the complete frames in `buffer`. Adds each frame to the answer, does the work of the frame
  // (ModelOptions::work), and counts the request. If SIGTERM or SIGINT has arrived during the work of a frame, parses
  // no further frame. Otherwise a long queue of requests would delay the end of the server. Returns the result of the
  // last EchoBytes::take():
  // - kMore: all complete frames are parsed.
  // - kTooLong: the next frame is too long.
  // - kWhole: SIGTERM or SIGINT has arrived. The last parsed frame was complete, and further complete frames may
  //   follow.
  FrameState take_frames(EchoBytes& buffer);
  void count_end(const CoSocket& socket, FrameState last);

 private:
  CoroutineLoop& loop_;
  const ModelOptions& options_;
  Statistics& statistics_;
  Tally tally_;
  bool crowded_ = false;  // a connection had to wait, and the backlog was never empty since then
};

}  // namespace peal::models
