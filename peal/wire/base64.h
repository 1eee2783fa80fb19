// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes base64 with padding, in the alphabet with '+' and '/' (RFC 4648, section 4). Pure functions; any
// thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace peal {

// Returns the base64 text of any bytes, without line breaks.
std::string base64_encode(std::string_view bytes);

// Returns the bytes that `text` encodes. Returns nullopt unless base64_encode() of these bytes gives exactly `text`.
// White space, missing padding, padding in the middle, and bits other than 0 before the padding are therefore errors.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace peal
