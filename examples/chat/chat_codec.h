// SPDX-License-Identifier: BSD-3-Clause
// Chat messages: four bytes of length in network order, then that many bytes of text.
#pragma once

#include <string_view>

#include <peal/base/memory/buffer.h>
#include <peal/wire/framing/length_framing.h>

namespace peal::examples {

inline constexpr LengthFraming kChatFraming{.limit_bytes = 64 * 1024};

// `text` with its length before it. Throws std::invalid_argument if `text` is longer than the framing's limit.
inline Buffer chat_message(std::string_view text) {
  Buffer message;
  kChatFraming.append(message, text);
  return message;
}

}  // namespace peal::examples
