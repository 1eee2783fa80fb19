// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/entity_tag.h>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// True for a character that may stand between the quotes of a tag: etagc = %x21 / %x23-7E / obs-text. Commas and
// semicolons are allowed, quotes and spaces are not.
bool is_tag_character(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value > 0x20 && value != '"' && value != 0x7f;
}

// Reads the entity tag at the front of `text` and returns its length in bytes, or 0 if no tag stands there.
size_t read_entity_tag(std::string_view text, EntityTag& tag) {
  tag.weak = text.starts_with("W/");  // "w/" is not allowed (RFC 9110 8.8.3)
  const size_t begin = tag.weak ? 2 : 0;
  if (begin >= text.size() || text[begin] != '"') return 0;
  size_t end = begin + 1;
  while (end < text.size() && is_tag_character(text[end])) ++end;
  if (end == text.size() || text[end] != '"') return 0;
  tag.opaque = text.substr(begin, end + 1 - begin);
  return end + 1;
}

}  // namespace

std::optional<EntityTag> parse_entity_tag(std::string_view text) {
  EntityTag tag;
  const size_t bytes = read_entity_tag(text, tag);
  if (bytes == 0 || bytes != text.size()) return std::nullopt;
  return tag;
}

bool next_entity_tag(std::string_view& list, EntityTag& tag) {
  while (!list.empty() && (list.front() == ',' || detail::is_blank(list.front()))) list.remove_prefix(1);
  const size_t bytes = read_entity_tag(list, tag);
  list.remove_prefix(bytes);
  while (!list.empty() && detail::is_blank(list.front())) list.remove_prefix(1);
  const bool fits = bytes > 0 && (list.empty() || list.front() == ',');
  if (!fits) list = {};
  return fits;
}

}  // namespace peal
