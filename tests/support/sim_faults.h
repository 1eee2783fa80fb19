// SPDX-License-Identifier: BSD-3-Clause
// Faults of a simulated network that lose no byte: delays, interruptions and short transfers.
#pragma once

#include <peal/sim/sim_world.h>

namespace peal::test {

inline SimOptions lossless_faults() {
  SimOptions faults = SimOptions::hostile();
  faults.reset = faults.vanish = faults.no_fd = 0;
  faults.refuse = faults.unreachable = faults.swallow = 0;
  return faults;
}

}  // namespace peal::test
