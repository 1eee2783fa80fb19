// SPDX-License-Identifier: BSD-3-Clause
// One thing `peal doctor` looked at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peal::cli {

enum class Health {
  kOk,
  kLimits,   // something a user may run into; `here` says what
  kBad,      // ordinary runs fail, or their figures mean something else
  kUnknown,  // not readable here
};

struct Finding {
  std::string group;
  std::string name;   // as the kernel calls it, where it has a name
  std::string value;  // as it stands there
  std::string what;   // what it is
  std::string here;   // what it limits on this machine, in peal's terms
  Health health = Health::kOk;
  std::string mend = {};  // the command that mends it, or who can; empty when nothing is to be mended
};

using Findings = std::vector<Finding>;

std::string_view to_string(Health health);

}  // namespace peal::cli
