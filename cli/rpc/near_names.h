// SPDX-License-Identifier: BSD-3-Clause
// Names that somebody may have meant who wrote a name that is not there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace peal::cli {

// At most three of `names`, the nearest first. A name is near if few letters differ, upper case or lower. `asked` may
// lack the leading parts of a name: "Ehco" and "EchoService.Ehco" are both near to "echo.EchoService.Echo".
std::vector<std::string> near_names(std::span<const std::string> names, std::string_view asked);
// " (did you mean a or b?)", or nothing.
std::string did_you_mean(std::span<const std::string> names, std::string_view asked);

}  // namespace peal::cli
