// SPDX-License-Identifier: BSD-3-Clause
// The protocol of the hub consists of lines that end in CRLF. A client sends `sub TOPIC`, `unsub TOPIC`, or `pub TOPIC`
// followed by a line with the content. The hub sends the two lines of a `pub` to all subscribers of the topic.
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
  std::string content = {};  // set only for kPublish
};

// Returns the framing of the protocol. It splits the stream at CRLF, so the content of a message may contain LF, but
// not CRLF.
inline DelimiterFraming hub_lines() { return {.delimiter = "\r\n"}; }

// Turns the lines of one connection into messages.
class HubReader {
 public:
  // Returns the message that `line` completes. Returns nothing for the first line of a `pub` message, because the
  // content follows in a second line. If `line` is not a command, returns a message with the verb kBad.
  std::optional<HubMessage> take(std::string_view line);

 private:
  std::optional<std::string> topic_;  // set if the next line is the content for this topic
};

// Returns the two lines that publish `content` under `topic`.
std::string publication(std::string_view topic, std::string_view content);

}  // namespace peal::examples
