// SPDX-License-Identifier: BSD-3-Clause
// The hub's protocol: lines that end in CRLF. A client says `sub TOPIC`, `unsub TOPIC`, or `pub TOPIC` followed by a
// line with the content; the hub tells its subscribers with the same two lines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <peal/base/memory/buffer.h>

namespace peal::examples {

struct HubMessage {
  enum class Verb { kSubscribe, kUnsubscribe, kPublish, kBad };
  Verb verb = Verb::kBad;
  std::string topic;
  std::string content = {};  // of kPublish
};

// The next whole message, taken out of `input`; none while it is incomplete.
std::optional<HubMessage> next_hub_message(Buffer& input);
std::string publication(std::string_view topic, std::string_view content);

}  // namespace peal::examples
