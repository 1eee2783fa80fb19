// SPDX-License-Identifier: BSD-3-Clause
// Plain counters of a Server's or Client's connections on one loop.
#pragma once

#include <cstdint>

namespace peal {

struct NetStats {
  uint64_t opened = 0;  // on_open was due
  uint64_t closed = 0;  // on_close was due
  uint64_t connect_failed = 0;
  uint64_t exceptions = 0;  // left a callback; each closed its connection
  uint64_t late_calls = 0;  // through a handle whose connection had gone
  uint64_t lost_calls = 0;  // through a handle whose loop refused the post

  NetStats& operator+=(const NetStats& other) {
    opened += other.opened;
    closed += other.closed;
    connect_failed += other.connect_failed;
    exceptions += other.exceptions;
    late_calls += other.late_calls;
    lost_calls += other.lost_calls;
    return *this;
  }
};

}  // namespace peal
