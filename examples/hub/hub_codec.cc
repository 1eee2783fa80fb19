// SPDX-License-Identifier: BSD-3-Clause
#include <examples/hub/hub_codec.h>

#include <fmt/core.h>

namespace peal::examples {
namespace {

using Verb = HubMessage::Verb;
constexpr std::string_view kEnd = "\r\n";

Verb verb_of(std::string_view word) {
  if (word == "sub") return Verb::kSubscribe;
  if (word == "unsub") return Verb::kUnsubscribe;
  return word == "pub" ? Verb::kPublish : Verb::kBad;
}

}  // namespace

std::optional<HubMessage> next_hub_message(Buffer& input) {
  const std::string_view text = input.view();
  const size_t end = text.find(kEnd);
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  size_t used = end + kEnd.size();
  const size_t space = line.find(' ');
  HubMessage message{.verb = verb_of(line.substr(0, space)), .topic = {}};
  if (space == line.npos) message.verb = Verb::kBad;
  if (message.verb != Verb::kBad) message.topic = line.substr(space + 1);
  if (message.verb == Verb::kPublish) {
    const size_t content_end = text.find(kEnd, used);
    if (content_end == text.npos) return std::nullopt;
    message.content = text.substr(used, content_end - used);
    used = content_end + kEnd.size();
  }
  input.consume(used);
  return message;
}

std::string publication(std::string_view topic, std::string_view content) {
  return fmt::format("pub {}\r\n{}\r\n", topic, content);
}

}  // namespace peal::examples
