// SPDX-License-Identifier: BSD-3-Clause
// Base64 with padding (RFC 4648, 4). Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace peal {

std::string base64_encode(std::string_view bytes);

// Nothing unless `text` is exactly what base64_encode gives for some bytes: no white space, no missing or inner
// padding, no stray bits before the padding.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace peal
