// SPDX-License-Identifier: BSD-3-Clause
// Finding: what `peal doctor` says about one property of the machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peal::cli {

enum class Health {
  kOk,
  kLimits,   // a large run will reach the limit that `here` describes
  kBad,      // ordinary runs fail, or their figures are misleading
  kUnknown,  // this machine does not show the value
};

struct Finding {
  std::string group;
  std::string name;   // the kernel's name for the property, if it has one
  std::string value;  // the value on this machine
  std::string what;   // what the property is
  std::string here;   // what it limits on this machine, in connections, ports or times
  Health health = Health::kOk;
  std::string mend = {};  // the command that changes the value, or who can change it; empty if all is well
};

using Findings = std::vector<Finding>;

std::string_view to_string(Health health);

}  // namespace peal::cli
