// SPDX-License-Identifier: BSD-3-Clause
// Entity tags (RFC 9110 8.8.3): "xyzzy", or W/"xyzzy" for a weak one. Pure functions; any thread.
#pragma once

#include <optional>
#include <string_view>

namespace peal {

struct EntityTag {
  std::string_view opaque;  // with its quotes, a view into what it was read from
  bool weak = false;
};

// Exactly one, with nothing around it.
std::optional<EntityTag> parse_entity_tag(std::string_view text);
// Cuts the next one off a comma-separated list; false when there is none left, or none that is well formed: what
// follows it then counts for nothing.
bool next_entity_tag(std::string_view& list, EntityTag& tag);

// RFC 9110 8.8.3.2: the same bytes, and neither is weak.
inline bool matches_strongly(const EntityTag& one, const EntityTag& other) {
  return !one.weak && !other.weak && one.opaque == other.opaque;
}
// Whether or not either is weak.
inline bool matches_weakly(const EntityTag& one, const EntityTag& other) { return one.opaque == other.opaque; }

}  // namespace peal
