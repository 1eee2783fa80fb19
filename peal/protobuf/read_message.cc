// SPDX-License-Identifier: BSD-3-Clause
#include <peal/protobuf/read_message.h>

namespace peal::detail {

std::expected<DecodeNamed::Answer, Trouble> DecodeNamed::operator()(Buffer& body) const {
  const std::expected<NamedMessage, Trouble> opened = NamedCodec::open(body);
  if (!opened) return std::unexpected(opened.error());
  Answer message = types.make(opened->type_name);
  if (message == nullptr) return std::unexpected(Trouble::kUnknownMessageType);
  if (!opened->bytes.parse_into(*message)) return std::unexpected(Trouble::kUnreadableMessage);
  return message;
}

}  // namespace peal::detail
