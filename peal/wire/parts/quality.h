// SPDX-License-Identifier: BSD-3-Clause
// The weight of an element in the fields by which a client says what it likes (RFC 9110 12.4.2).
#pragma once

#include <optional>
#include <string_view>

namespace peal::detail {

inline constexpr int kFullQuality = 1000;

// A qvalue in thousandths: 0 or 1 with at most three decimals, at most 1 together. Nothing where it is none.
std::optional<int> read_quality(std::string_view text);

}  // namespace peal::detail
