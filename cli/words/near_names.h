// SPDX-License-Identifier: BSD-3-Clause
// near_names(): finds the names that a user may have meant by a name that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peal::cli {

// Returns at most three of `names` that are similar to `asked`, the most similar first. Two names are similar if at
// most a quarter of the letters of `asked`, or at most two letters, must be changed, added or removed. Upper and lower
// case count as equal. Dots separate the parts of a name. If `asked` has fewer parts than a name, only the last parts
// of the name are compared. Both "Ehco" and "EchoService.Ehco" are similar to "echo.EchoService.Echo".
std::vector<std::string> near_names(std::span<const std::string> names, std::string_view asked);
// Returns " (did you mean a or b?)" with the names that are similar to `asked`, or an empty text if there are none.
std::string did_you_mean(std::span<const std::string> names, std::string_view asked);

}  // namespace peal::cli
