// SPDX-License-Identifier: BSD-3-Clause
// Chat messages: four bytes of length in network order, then that many bytes of text.
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>

namespace peal::examples {

inline constexpr uint32_t kMostChatBytes = 64 * 1024;

inline std::string chat_message(std::string_view text) {
  const uint32_t size = htonl(static_cast<uint32_t>(text.size()));
  std::string message(reinterpret_cast<const char*>(&size), sizeof(size));
  return message.append(text);
}

// The next whole message with its length, as it is to be passed on. None: it is incomplete, or `bad` was set, because
// nothing sensible can follow.
inline std::optional<Buffer> next_chat_message(Buffer& input, bool& bad) {
  uint32_t size = 0;
  if (input.size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, input.view(sizeof(size)).data(), sizeof(size));
  size = ntohl(size);
  bad = size > kMostChatBytes;
  if (bad || input.size() < sizeof(size) + size) return std::nullopt;
  return input.take(sizeof(size) + size);
}

// What the callbacks of a chat server or client do with input: calls `take(message)` for each, closes on nonsense.
template <class Connection, class Take>
void take_chat_messages(Connection& connection, Buffer& input, Take&& take) {
  bool bad = false;
  while (auto message = next_chat_message(input, bad)) take(*message);
  if (bad) connection.close();
}

}  // namespace peal::examples
