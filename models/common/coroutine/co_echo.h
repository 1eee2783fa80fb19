// SPDX-License-Identifier: BSD-3-Clause
// CoEcho: what the echo services of stackful and of stackless coroutines have in common: what is tried, worked and
// counted, without any waiting. One thread.
#pragma once

#include <models/common/coroutine/co_socket.h>
#include <models/common/echo/echo_bytes.h>
#include <models/common/statistics.h>

namespace peal::models {

class CoEcho {
 public:
  // All outlive it.
  CoEcho(CoroutineLoop& loop, const ModelOptions& options, Statistics& statistics)
      : loop_(loop), options_(options), statistics_(statistics) {}
  ~CoEcho() { statistics_.add(tally_); }
  CoEcho(const CoEcho&) = delete;
  CoEcho& operator=(const CoEcho&) = delete;

  CoroutineLoop& loop() { return loop_; }
  const ModelOptions& options() const { return options_; }
  // Counts the connection just accepted if it has to wait for a coroutine, or had to: it found those taken, or comes
  // from a backlog that was never empty since somebody did.
  void count_waiting(bool coroutine_free);

 protected:
  Accepted try_accept(CoSocket& listener);
  // Takes and works for every whole frame that came; what the last one was.
  FrameState take_frames(EchoBytes& buffer);
  void count_end(const CoSocket& socket, FrameState last);

 private:
  CoroutineLoop& loop_;
  const ModelOptions& options_;
  Statistics& statistics_;
  Tally tally_;
  bool crowded_ = false;  // the backlog was not empty since a connection had to wait
};

}  // namespace peal::models
