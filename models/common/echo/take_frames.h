// SPDX-License-Identifier: BSD-3-Clause
// Parses the complete frames in a buffer and runs their work. Several echo services share this function.
#pragma once

#include <models/common/echo/echo_bytes.h>
#include <models/common/statistics.h>
#include <models/common/work.h>

namespace peal::models {

// Parses every complete frame in `buffer`. For each frame, adds the frame to the answer, does the artificial work of
// one request, and counts the request in `tally`. Returns the state of the frame after the last complete one:
// - kMore: the frame is incomplete, or has not begun.
// - kTooLong: the frame is too long, and is counted in `tally`. No further frame of the connection can be answered.
inline FrameState take_frames(EchoBytes& buffer, const Work& work, Tally& tally) {
  FrameState state = buffer.take();
  for (; state == FrameState::kWhole; state = buffer.take()) {
    do_work(work);
    ++tally.requests;
  }
  if (state == FrameState::kTooLong) ++tally.too_large;
  return state;
}

}  // namespace peal::models
