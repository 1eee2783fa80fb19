// SPDX-License-Identifier: BSD-3-Clause
#include <peal/base/cycle_clock.h>

#include <fstream>
#include <string>

namespace peal {

bool CycleClock::usable() {
  static const bool is_clock_source = [] {
    std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::string name;
    return file >> name && name == "tsc";
  }();
  return is_clock_source;
}

TimePoint CycleClock::time_of(uint64_t stamp, const Moment& first, const Moment& last) {
  const auto cycles = static_cast<double>(last.stamp - first.stamp);
  const double each = cycles == 0 ? 0 : static_cast<double>((last.time - first.time).count()) / cycles;
  const auto before = static_cast<double>(static_cast<int64_t>(last.stamp - stamp));
  return last.time - Duration(static_cast<int64_t>(before * each));
}

}  // namespace peal
