// SPDX-License-Identifier: BSD-3-Clause
#include <examples/hub/hub_codec.h>

#include <utility>

#include <fmt/core.h>

namespace peal::examples {

std::optional<HubMessage> HubReader::take(std::string_view line) {
  using enum HubMessage::Verb;
  if (topic_) {
    std::string topic = *std::exchange(topic_, std::nullopt);
    return HubMessage{.verb = kPublish, .topic = std::move(topic), .content = std::string(line)};
  }
  const size_t space = line.find(' ');
  if (space == line.npos) return HubMessage{.verb = kBad};
  const std::string_view verb = line.substr(0, space);
  std::string topic(line.substr(space + 1));
  if (verb == "sub") return HubMessage{.verb = kSubscribe, .topic = std::move(topic)};
  if (verb == "unsub") return HubMessage{.verb = kUnsubscribe, .topic = std::move(topic)};
  if (verb != "pub") return HubMessage{.verb = kBad};
  topic_ = std::move(topic);
  return std::nullopt;
}

std::string publication(std::string_view topic, std::string_view content) {
  return fmt::format("pub {}\r\n{}\r\n", topic, content);
}

}  // namespace peal::examples
