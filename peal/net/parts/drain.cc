// SPDX-License-Identifier: BSD-3-Clause
#include <peal/net/parts/drain.h>

#include <utility>

#include <peal/base/exception.h>
#include <peal/base/log.h>

namespace peal::detail {

Drain::~Drain() {
  if (!on_done_) return;
  try {
    on_done_({.finished = finished_,
              .forced = forced_,
              .lost_bytes = lost_bytes_,
              .lost_in_kernel_bytes = lost_in_kernel_bytes_});
  } catch (...) {
    PEAL_LOG_ERROR("on_done of Server::drain() threw: {}", what_was_thrown());
  }
}

void Drain::forget() {
  Done dropped;
  const std::lock_guard lock(mutex_);
  dropped = std::exchange(on_done_, nullptr);
}

}  // namespace peal::detail
