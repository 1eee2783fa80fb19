// SPDX-License-Identifier: BSD-3-Clause
#include <peal/wire/content/entity_tag.h>

#include <peal/wire/parts/http_text.h>

namespace peal {
namespace {

// etagc = %x21 / %x23-7E / obs-text: commas and semicolons too, no quote, no space.
bool is_tag_character(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value > 0x20 && value != '"' && value != 0x7f;
}

// How many bytes of the front are an entity tag; 0: none.
size_t read_entity_tag(std::string_view text, EntityTag& tag) {
  tag.weak = text.starts_with("W/");  // case counts
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
