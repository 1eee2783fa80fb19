// SPDX-License-Identifier: BSD-3-Clause
// The work a request may cost besides its echo.
#pragma once

#include <models/common/model_options.h>

namespace peal::models {

// Does the work of one request on this thread, which it holds as long. Once a signal asked for the end (stop.h) nothing
// more is begun, and computing ends: however many requests lie ahead, a model ends within a second.
void do_slow_work(const Work& work);
inline void do_work(const Work& work) {
  if (work.time > Duration::zero()) do_slow_work(work);
}

}  // namespace peal::models
