// SPDX-License-Identifier: BSD-3-Clause
// read_quality() reads the weight of an element in a field such as Accept, the qvalue in ";q=0.5" (RFC 9110 12.4.2).
// Pure function; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace peal::detail {

inline constexpr int kFullQuality = 1000;  // the largest weight, 1

// Returns the qvalue in thousandths, 0 to kFullQuality. Returns nullopt if `text` is not a number from 0 to 1 with at
// most three decimals.
std::optional<int> read_quality(std::string_view text);

}  // namespace peal::detail
