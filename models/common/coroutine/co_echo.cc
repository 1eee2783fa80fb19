// SPDX-License-Identifier: BSD-3-Clause
#include <models/common/coroutine/co_echo.h>

#include <models/common/work.h>

namespace peal::models {

Accepted CoEcho::try_accept(CoSocket& listener) {
  Accepted next = listener.try_accept();
  if (next.did == CallOutcome::kDone) ++tally_.accepted;
  if (next.did == CallOutcome::kWouldBlock && !listener.gave_way()) crowded_ = false;
  return next;
}

void CoEcho::count_waiting(bool coroutine_free) {
  if (!coroutine_free) crowded_ = true;
  if (crowded_) ++tally_.waited;
}

FrameState CoEcho::take_frames(EchoBytes& buffer) {
  const bool works = options_.work.time > Duration::zero();
  FrameState state = buffer.take();
  for (; state == FrameState::kWhole; state = buffer.take()) {
    do_work(options_.work);
    ++tally_.requests;
    if (works && loop_.stop_asked()) break;
  }
  return state;
}

void CoEcho::count_end(const CoSocket& socket, FrameState last) {
  ++tally_.ended;
  if (last == FrameState::kTooLong) ++tally_.too_large;
  if (socket.timed_out()) ++tally_.timed_out;
  statistics_.add(tally_);
}

}  // namespace peal::models
