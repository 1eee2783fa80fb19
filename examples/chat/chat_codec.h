// SPDX-License-Identifier: BSD-3-Clause
// A chat message is the length of its text in four bytes (network byte order), followed by the text.
#pragma once

#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::examples {

inline constexpr LengthFraming kChatFraming{.limit_bytes = 64 * 1024};

// Returns `text` with its length in front. Throws std::invalid_argument if `text` is longer than the framing allows.
inline Buffer chat_message(std::string_view text) {
  Buffer message;
  kChatFraming.append(message, text);
  return message;
}

}  // namespace peal::examples
