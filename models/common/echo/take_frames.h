// SPDX-License-Identifier: BSD-3-Clause
// The computing half of the echo service: what came is taken frame by frame, and worked for.
#pragma once

#include <models/common/echo/echo_bytes.h>
#include <models/common/statistics.h>
#include <models/common/work.h>

namespace peal::models {

// Takes every frame that lies in the buffer whole, works for it and counts it. Returns what stopped it: kMore, or
// kTooLong, which is counted too. After kTooLong nothing more can be answered.
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
