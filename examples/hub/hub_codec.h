// SPDX-License-Identifier: BSD-3-Clause
// The hub's protocol: lines that end in CRLF. A client says `sub TOPIC`, `unsub TOPIC`, or `pub TOPIC` followed by a
// line with the content; the hub tells its subscribers with the same two lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/wire/framing/delimiter_framing.h>

namespace peal::examples {

struct HubMessage {
  enum class Verb { kSubscribe, kUnsubscribe, kPublish, kBad };
  Verb verb = Verb::kBad;
  std::string topic = {};
  std::string content = {};  // of kPublish
};

// The content of a publication may contain LF, but not CRLF.
inline DelimiterFraming hub_lines() { return {.delimiter = "\r\n"}; }

// Makes messages of the lines of one connection.
class HubReader {
 public:
  // Nothing after `pub TOPIC`: the next line completes the message.
  std::optional<HubMessage> take(std::string_view line);

 private:
  std::optional<std::string> topic_;  // of the publication whose content comes next
};

std::string publication(std::string_view topic, std::string_view content);

}  // namespace peal::examples
