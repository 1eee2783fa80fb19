// SPDX-License-Identifier: BSD-3-Clause
// The artificial work that a request may cost, in addition to its echo.
#pragma once

#include <models/common/model_options.h>

namespace peal::models {

// Does the work of one request: computes or sleeps on the calling thread for `work.time`. If SIGTERM or SIGINT is
// already pending, does no work, so that a long queue of requests does not delay the end of the server (stop.h). If
// such a signal arrives during a computation, stops the computation. A sleep that has begun is not shortened, because a
// blocked signal does not interrupt the sleep.
void do_slow_work(const Work& work);
inline void do_work(const Work& work) {
  if (work.time > Duration::zero()) do_slow_work(work);
}

}  // namespace peal::models
